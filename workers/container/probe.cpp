#include "workers/container/probe.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "protocol/rpc/deadline.h"
#include "workers/container/inspect.h"
#include "workers/container/json_document.h"
#include "workers/container/listing.h"

namespace factionos::container {
namespace {

constexpr auto kPartLimit = 3 * kj::SECONDS;
constexpr std::size_t kMaxProviders = 16;
constexpr std::size_t kMaxLabelBytes = 64;

constexpr std::string_view kVersionLabel = "org.factionos.version";
constexpr std::string_view kProvidersLabel = "org.factionos.providers";
constexpr std::string_view kBrowserLabel = "org.factionos.browser-dependencies";

using schema::Posture;

void tell(schema::Probe::Builder probe, Posture status, const char* reason = nullptr) {
  probe.setStatus(status);
  if (reason != nullptr) probe.setReason(reason);
}

// Why an answer that is none is none.
void tellFault(schema::Probe::Builder probe, const Reply& reply) {
  if (reply.fault == Fault::kTimeout) return tell(probe, Posture::TIMEOUT, "engine_timeout");
  tell(probe, Posture::UNAVAILABLE, reply.fault == Fault::kNone ? "engine_refused" : "engine_unreachable");
}

bool isLabelText(std::string_view text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '+';
  };
  return !text.empty() && text.size() <= kMaxLabelBytes && std::ranges::all_of(text, good);
}

bool hasOption(const MaybeElement& info, std::string_view start, std::string_view never = {}) {
  const auto options = textsOf(member(info, "SecurityOptions"));
  return options && std::ranges::any_of(*options, [&](std::string_view each) {
           return each.starts_with(start) && (never.empty() || each.find(never) == each.npos);
         });
}

void tellIsolation(const MaybeElement& info, const Version& version, schema::EngineProbe::Builder out) {
  out.setRootless(version.manner.rootless);
  out.setUserRemap(hasOption(info, "name=userns"));
  const auto has = [&](std::string_view name) { return boolOf(member(info, name)).value_or(false); };
  auto probe = out.initIsolation();
  if (!hasOption(info, "name=seccomp", "unconfined"))
    return tell(probe, Posture::POLICY_BLOCKED, "seccomp_missing");
  const bool cpu = has("CpuCfsQuota") || has("CPUCfsQuota");
  if (!version.limits || !has("MemoryLimit") || !has("PidsLimit") || !cpu)
    return tell(probe, Posture::POLICY_BLOCKED, "limits_missing");
  if (!has("SwapLimit")) return tell(probe, Posture::POLICY_BLOCKED, "swap_limit_missing");
  tell(probe, Posture::AVAILABLE);
}

void tellProviders(const MaybeElement& labels, schema::EngineProbe::Builder out) {
  std::vector<std::string> found;
  std::string_view rest = textOf(member(labels, kProvidersLabel)).value_or("");
  while (!rest.empty() && found.size() < kMaxProviders) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = rest.substr(0, comma);
    if (isLabelText(one)) found.emplace_back(one);
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  auto list = out.initImageProviders(static_cast<unsigned>(found.size()));
  for (unsigned i = 0; i < list.size(); ++i) list.set(i, found[i].c_str());
}

void tellImage(const Reply& reply, schema::EngineProbe::Builder out) {
  auto image = out.initImage();
  auto browser = out.initBrowserDependencies();
  if (!reply.is(200)) {
    tell(browser, Posture::UNAVAILABLE, "image_missing");
    return reply.is(404) ? tell(image, Posture::UNAVAILABLE, "image_missing") : tellFault(image, reply);
  }
  const JsonDocument document(reply.body);
  const MaybeElement config = member(document.root(), "Config");
  const MaybeElement labels = member(config, "Labels");
  const auto version = textOf(member(labels, kVersionLabel)).value_or("");
  const bool has = textOf(member(labels, kBrowserLabel)) == "1";
  tell(browser, has ? Posture::AVAILABLE : Posture::UNAVAILABLE, has ? nullptr : "not_in_image");
  if (!isLabelText(version)) return tell(image, Posture::POLICY_BLOCKED, "image_not_ours");
  out.setImageVersion(std::string(version).c_str());
  tellProviders(labels, out);
  if (const auto id = imageIdIn(document.root(), "Id")) out.setImageId(id->c_str());
  // A place without a limit, made anew at each run.
  if (countOf(member(config, "Volumes")) != std::size_t{0})
    return tell(image, Posture::POLICY_BLOCKED, "image_has_volumes");
  tell(image, Posture::AVAILABLE);
}

void tellEgress(const Reply& reply, Dialect dialect, schema::Probe::Builder out) {
  if (reply.is(404)) return tell(out, Posture::UNAVAILABLE, "network_missing");
  if (!reply.is(200)) return tellFault(out, reply);
  const JsonDocument document(reply.body);
  const bool bridge = textOf(member(document.root(), "Driver")) == "bridge";
  // Containers of one network reach each other, unless it was made otherwise.
  const auto between =
      textOf(member(member(document.root(), "Options"), "com.docker.network.bridge.enable_icc"));
  const bool apart = dialect == Dialect::kPodman || between == "false";
  if (!bridge || !apart) return tell(out, Posture::POLICY_BLOCKED, "network_not_as_meant");
  tell(out, Posture::AVAILABLE);
}

kj::Promise<void> ask(Engine& engine, std::string target, kj::Function<void(const Reply&)> told) {
  return engine.ask({.target = std::move(target), .limit = kPartLimit})
      .then([told = kj::mv(told)](Reply reply) mutable { told(reply); });
}

kj::Promise<void> probeParts(Engine& engine, const Version& version, std::string image, std::string instance,
                             schema::EngineProbe::Builder out) {
  auto parts = kj::heapArrayBuilder<kj::Promise<void>>(4);
  parts.add(ask(engine, "/info", [out, version](const Reply& reply) mutable {
    if (!reply.is(200)) return tellFault(out.initIsolation(), reply);
    const JsonDocument document(reply.body);
    tellIsolation(document.root(), version, out);
  }));
  parts.add(ask(engine, "/images/" + image + "/json",
                [out](const Reply& reply) mutable { tellImage(reply, out); }));
  parts.add(ask(engine, "/networks/" + std::string(kEgressNetwork),
                [out, dialect = version.manner.dialect](const Reply& reply) mutable {
                  tellEgress(reply, dialect, out.initEgress());
                }));
  parts.add(list(engine, std::move(instance), kPartLimit).then([out](const Listing& listing) mutable {
    auto cleanup = out.initCleanup();
    if (!listing.reply.is(200)) return tellFault(cleanup, listing.reply);
    out.setLeftovers(static_cast<std::uint32_t>(listing.found.size()));
    tell(cleanup, Posture::AVAILABLE);
  }));
  return kj::joinPromises(parts.finish());
}

}  // namespace

kj::Promise<void> probe(Engine& engine, std::string image, std::string instance,
                        schema::EngineProbe::Builder out) {
  // One that hangs by now says nothing, whatever it said before.
  auto learnt =
      rpc::withDeadline(engine.timer(), kPartLimit, engine.versionNow()).catch_([](kj::Exception&&) {
        Version late;
        late.fault = Fault::kTimeout;
        return late;
      });
  return learnt.then([&engine, image = std::move(image), instance = std::move(instance),
                      out](const Version& version) mutable -> kj::Promise<void> {
    auto told = out.initEngine();
    if (version.fault != Fault::kNone) {
      tellFault(told, {.fault = version.fault, .body = {}});
      return kj::READY_NOW;
    }
    if (version.refusal != nullptr) {
      tell(told, Posture::POLICY_BLOCKED, version.refusal);
      return kj::READY_NOW;
    }
    const bool podman = version.manner.dialect == Dialect::kPodman;
    out.setKind(podman ? schema::EngineKind::PODMAN : schema::EngineKind::DOCKER);
    out.setApiVersion(version.api.c_str());
    if (version.manner.dialect != engine.expected()) {
      tell(told, Posture::POLICY_BLOCKED, "another_engine");
    } else {
      tell(told, Posture::AVAILABLE);
    }
    return probeParts(engine, version, std::move(image), std::move(instance), out);
  });
}

}  // namespace factionos::container
