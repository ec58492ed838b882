// The Launcher interface of launcher.capnp.
#pragma once

#include <string>
#include <vector>

#include "protocol/rpc/loop.h"
#include "protocol/schemas/launcher.capnp.h"
#include "sandbox/support.h"
#include "sandbox/workspace.h"
#include "workers/launcher/audit_routes.h"
#include "workers/launcher/reaper.h"

namespace factionos::launcher {

struct Setup {
  int programs = -1;  // O_PATH directory of the workers' executables; borrowed
  std::vector<std::string> environment;
  sandbox::WorkspaceRules workspaces;
  sandbox::KernelSupport support;
};

// All references outlive the capability. `audit`: null where the kernel's records are not read.
schema::Launcher::Client makeService(rpc::Loop& loop, Reaper& reaper, const Setup& setup,
                                     AuditRoutes* audit = nullptr);

}  // namespace factionos::launcher
