// factionosd: the broker.
#include "broker/daemon.h"

int main(int argc, char** argv) {
  return factionos::broker::daemonMain(argc, argv, {});
}
