#pragma once

#include "broker/redaction/label.h"

namespace factionos::audit {

// Every text of a record is one of these.
using redaction::Code;
using redaction::InvalidLabel;
using redaction::Label;

}  // namespace factionos::audit
