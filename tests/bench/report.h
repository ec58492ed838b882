// The table of figures: printed for people, kept as JSON for machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace factionos::bench {

struct Beside {
  std::string name;
  double value = 0;
};

struct Row {
  std::string suite;
  std::string what;
  std::string unit;
  double value = 0;
  std::optional<Beside> beside = {};  // measured in the same run
  std::string aim = {};               // in words: "≥ 0.5"
  std::string note = {};

  // value / beside: of rates and of times alike, the reader knows the unit.
  [[nodiscard]] std::optional<double> ratio() const;
};

class Report {
 public:
  // Prints the row at once: a long run shows how far it is.
  void add(Row row);
  void write(const std::string& jsonFile) const;

 private:
  std::vector<Row> rows_;
};

// "CPU model, N cores, kernel 6.18.0, ext4".
std::string machine();

// Of an unsorted sample that has at least one element; `part` of 0.5 is the median.
double quantile(std::vector<double> sample, double part);

}  // namespace factionos::bench
