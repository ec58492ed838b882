# What a stream's client sends: its first and only message. On the unix socket it may be {}.

@0xb2a4a5f0c1d3e697;

using Cxx = import "/capnp/c++.capnp";
using Http = import "../../protocol/schemas/http.capnp";
$Cxx.namespace("factionos::front");

struct StreamHello {
  token @0 :Text $Http.text(min = 1, max = 512);
}
