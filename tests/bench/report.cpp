#include "tests/bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <thread>

#include <sys/utsname.h>
#include <sys/vfs.h>

#include "http.h"

namespace factionos::bench {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

std::string number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.3f", value);
  return text;
}

}  // namespace

std::optional<double> Row::ratio() const {
  if (!beside || beside->value == 0) return std::nullopt;
  return value / beside->value;
}

void Report::add(Row row) {
  std::printf("%-9s %-44s %10s %-7s", row.suite.c_str(), row.what.c_str(), number(row.value).c_str(),
              row.unit.c_str());
  if (row.beside)
    std::printf("  %-30s %10s  ratio %s", row.beside->name.c_str(), number(row.beside->value).c_str(),
                number(row.ratio().value_or(0)).c_str());
  if (!row.aim.empty()) std::printf("  (aim %s)", row.aim.c_str());
  if (!row.note.empty()) std::printf("  %s", row.note.c_str());
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

void Report::write(const std::string& jsonFile) const {
  std::ofstream out(jsonFile);
  out << "{\"machine\":" << test::json(machine()) << ",\"rows\":[";
  const char* comma = "";
  for (const Row& row : rows_) {
    out << comma << "\n{\"suite\":" << test::json(row.suite) << ",\"what\":" << test::json(row.what)
        << ",\"unit\":" << test::json(row.unit) << ",\"value\":" << row.value;
    if (row.beside)
      out << ",\"beside\":{\"name\":" << test::json(row.beside->name) << ",\"value\":" << row.beside->value
          << "},\"ratio\":" << row.ratio().value_or(0);
    if (!row.aim.empty()) out << ",\"aim\":" << test::json(row.aim);
    if (!row.note.empty()) out << ",\"note\":" << test::json(row.note);
    out << "}";
    comma = ",";
  }
  out << "\n]}\n";
}

std::string machine() {
  utsname system{};
  uname(&system);
  return processor() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, Linux " +
         system.release;
}

double quantile(std::vector<double> sample, double part) {
  const auto at = static_cast<std::ptrdiff_t>(std::floor(part * static_cast<double>(sample.size() - 1)));
  std::nth_element(sample.begin(), sample.begin() + at, sample.end());
  return sample[static_cast<std::size_t>(at)];
}

}  // namespace factionos::bench
