#include <algorithm>

#include "broker/walls/description.h"
#include "protocol/json/json_text.h"

namespace factionos::walls {
namespace {

constexpr std::size_t kWidth = 120;
constexpr std::size_t kWidestSubject = 40;
constexpr std::size_t kDetailIndent = 6;

void appendRow(std::string& out, const DescribedRow& row, std::size_t width) {
  out += "  " + row.subject;
  out.append(width > row.subject.size() ? width - row.subject.size() : 0, ' ');
  out += "  " + row.right;
  if (!row.reason.empty()) out += " - " + row.reason;
  out += "\n";
}

void appendWrapped(std::string& out, const std::vector<std::string>& words) {
  const std::string indent(kDetailIndent, ' ');
  std::string line;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > kWidth) {
      out += indent + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) out += indent + line + "\n";
}

std::size_t widestOf(const DescribedSection& section) {
  std::size_t widest = 0;
  for (const DescribedRow& row : section.rows) widest = std::max(widest, row.subject.size());
  return std::min(widest, kWidestSubject);
}

}  // namespace

std::string asText(const Description& description) {
  std::string out = std::string(description.name) + ": " + std::string(description.purpose) + "\n";
  if (!description.within.empty())
    out += "within: " + std::string(description.within) + ", whose refusals hold here too\n";
  for (const DescribedSection& section : description.sections) {
    out += "\n" + std::string(section.id) + ": " + section.summary + "\n";
    const std::size_t width = widestOf(section);
    for (const DescribedRow& row : section.rows) {
      appendRow(out, row, width);
      appendWrapped(out, row.details);
    }
  }
  return out;
}

std::string asJson(const Description& description) {
  std::string out;
  json::JsonText text(out);
  text.beginObject();
  text.member("profile", description.name);
  text.member("purpose", description.purpose);
  text.member("within", description.within);
  text.key("sections");
  text.beginArray();
  for (const DescribedSection& section : description.sections) {
    text.beginObject();
    text.member("id", section.id);
    text.member("summary", section.summary);
    text.key("rows");
    text.beginArray();
    for (const DescribedRow& row : section.rows) {
      text.beginObject();
      text.member("subject", row.subject);
      text.member("right", row.right);
      text.member("reason", row.reason);
      text.key("details");
      text.beginArray();
      for (const std::string& detail : row.details) text.text(detail);
      text.endArray();
      text.endObject();
    }
    text.endArray();
    text.endObject();
  }
  text.endArray();
  text.endObject();
  return out + "\n";
}

}  // namespace factionos::walls
