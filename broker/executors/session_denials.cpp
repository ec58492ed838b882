#include "broker/executors/session_denials.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace factionos::broker {
namespace {

std::optional<audit::Label> labelOf(capnp::Text::Reader text) {
  return audit::Label::parse(std::string_view(text.begin(), text.size()));
}

}  // namespace

bool SessionDenials::take(capnp::List<schema::DenialCount>::Reader rows) {
  const auto before = total_;
  rows_.clear();
  total_ = 0;
  for (unsigned i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const auto row = rows[i];
    auto source = labelOf(row.getSource());
    auto operation = labelOf(row.getOperation());
    auto target = labelOf(row.getTarget());
    if (!source || !operation || !target) continue;
    // What the kernel's records were lost of is nobody's denial for certain.
    const bool lost = source->text() == "landlock-audit" && target->text() == "further";
    if (!lost) total_ += row.getCount();
    rows_.push_back({std::move(*source), std::move(*operation), std::move(*target), row.getCount(),
                     row.getFirstAt(), row.getLastAt()});
  }
  return total_ != before;
}

void SessionDenials::fill(
    actions::Outgoing<redaction::Boundary::kApiResponse, schema::TerminalSession> session) const {
  using D = schema::DenialCount::Builder;
  using R = redaction::Redactor<redaction::Boundary::kApiResponse>;
  auto list = session.init(&schema::TerminalSession::Builder::initDenials, rows_.size());
  for (unsigned i = 0; i < list.size(); ++i) {
    auto row = list[i];
    row.set(&D::setSource, R::label(rows_[i].source));
    row.set(&D::setOperation, R::label(rows_[i].operation));
    row.set(&D::setTarget, R::label(rows_[i].target));
    row.set(&D::setCount, rows_[i].count);
    row.set(&D::setFirstAt, rows_[i].firstAt);
    row.set(&D::setLastAt, rows_[i].lastAt);
  }
}

}  // namespace factionos::broker
