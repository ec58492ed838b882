// What the gofer costs: it hears of each open and carries out each call that makes or moves a name.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/suites.h"

extern char** environ;

namespace factionos::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A shell line that prepares, and one that is measured; each in an empty directory.
struct Work {
  std::string what;
  std::string prepare;
  std::string measured;
  std::string aim = {};
};

// What a part of an ordinary program looks like: the headers that most include, some functions.
constexpr std::string_view kPart = R"c(#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct entry {
  struct entry *next;
  size_t size;
  char name[];
};

static int compare(const void *left, const void *right) {
  const struct entry *const *a = left, *const *b = right;
  return strcmp((*a)->name, (*b)->name);
}

static struct entry *entry_of(const char *line, size_t length) {
  struct entry *entry = malloc(sizeof *entry + length + 1);
  if (entry == NULL) return NULL;
  memcpy(entry->name, line, length);
  entry->name[length] = 0;
  struct stat status;
  entry->size = stat(entry->name, &status) == 0 ? (size_t)status.st_size : 0;
  return entry;
}

int read_list_PART(const char *path, struct entry **list) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return -errno;
  char line[512];
  struct entry *head = NULL, *last = NULL;
  size_t count = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    struct entry *entry = entry_of(line, strcspn(line, "#"));
    if (entry == NULL) break;
    entry->next = head;
    head = entry;
    ++count;
  }
  fclose(file);
  struct entry **order = calloc(count + 1, sizeof *order);
  if (order == NULL) return -ENOMEM;
  for (size_t i = 0; head != NULL; head = head->next) order[i++] = head;
  qsort(order, count, sizeof *order, compare);
  for (size_t i = count; i > 0; --i) {
    order[i - 1]->next = last;
    last = order[i - 1];
  }
  free(order);
  *list = last;
  return 0;
}

int write_list_PART(int out, const struct entry *list) {
  for (; list != NULL; list = list->next) {
    char text[600];
    const int size = snprintf(text, sizeof text, "%zu %s", list->size, list->name);
    for (int at = 0; at < size;) {
      const ssize_t put = write(out, text + at, (size_t)(size - at));
      if (put < 0 && errno != EINTR) return -errno;
      if (put > 0) at += (int)put;
    }
  }
  return 0;
}
)c";

// What is least work for the compiler, so that starting it is most of all.
constexpr std::string_view kLine = "int f_PART(int x) { return x + 1; }\n";

// Each object takes four files: its source, written by the build, the compiler's own in /tmp, the object, and
// what it depends on.
std::string buildOf(int objects, std::string_view part) {
  return "cat > part.in <<'END'\n" + std::string(part) + "END\n" +
         "printf 'all: $(patsubst %%,o%%.o,$(shell seq " + std::to_string(objects) +
         "))\\n.SECONDARY:\\ns%%.c: part.in\\n\\t@sed s/PART/$*/ part.in > $@\\n"
         "o%%.o: s%%.c\\n\\t@cc -O2 -g -MMD -c $< -o $@\\n' > Makefile";
}

// In as many directories as there are letters.
std::string treeOf(int files) {
  return "mkdir t && cd t && seq " + std::to_string(files) +
         " | split -l 1 -a 5 - f && for letter in f????[a-z]; do d=${letter#f????}; "
         "[ -d $d ] || { mkdir $d && mv f????$d $d/; }; done; cd .. && tar cf t.tar t";
}

std::vector<Work> worksOf(Effort effort) {
  const bool full = effort == Effort::kFull;
  const int files = full ? 10'000 : 400;
  return {
      {"make: a build that creates " + std::to_string(files) + " files", buildOf(files / 4, kPart),
       "make -s -j2", "≤ 1.1"},
      {"make: the same of sources of one line", buildOf(files / 4, kLine), "make -s -j2"},
      {"tar x of " + std::to_string(files) + " files", treeOf(files), "mkdir x && tar xf t.tar -C x"},
      {"git status of as many", treeOf(files) + "; git init -q . && git add t", "git status -s >/dev/null"},
      {"find over as many", treeOf(files), "find . -type f >/dev/null"}};
}

int runHere(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return 127;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// In seconds. Throws std::runtime_error if it fails.
double timed(const std::function<void()>& act) {
  const auto begin = Clock::now();
  act();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class Ground {
 public:
  Ground() : broker_(allowingBroker()), token_(broker_->token()) {}

  double alone(const Work& work) {
    const std::string place = fresh(work);
    return timed([&] { must({"sh", "-c", "cd '" + place + "' && " + work.measured}); });
  }

  double inBwrap(const Work& work) {
    const std::string place = fresh(work);
    return timed([&] {
      must({"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs",
            "/tmp", "--bind", place, place, "--chdir", place, "sh", "-c", work.measured});
    });
  }

  double inSession(const Work& work) {
    const std::string place = fresh(work);
    const std::string line =
        "cd " + std::filesystem::path(place).filename().string() + " && " + work.measured;
    return runToOutcome(*broker_, R"("shell":)" + test::json(line) + R"(,"timeoutMs":600000)", token_,
                        "supervised" + std::to_string(turn_)) /
           1000;
  }

 private:
  static void must(const std::vector<std::string>& words) {
    if (const int status = runHere(words); status != 0)
      throw std::runtime_error(words[0] + " ended with " + std::to_string(status));
  }

  // A directory of the workspace in which the work is prepared; that of the turn before is removed.
  std::string fresh(const Work& work) {
    std::filesystem::remove_all(place());
    ++turn_;
    std::filesystem::create_directory(place());
    must({"sh", "-c", "cd '" + place() + "' && { " + work.prepare + "; }"});
    return place();
  }
  [[nodiscard]] std::string place() const { return broker_->workspace() + "/turn" + std::to_string(turn_); }

  std::unique_ptr<test::LiveBroker> broker_;
  std::string token_;
  int turn_ = 0;
};

}  // namespace

void measureSupervision(Report& report, Effort effort, Meter&) {
  Ground ground;
  const bool bwrap = runHere({"bwrap", "--ro-bind", "/", "/", "true"}) == 0;
  if (!bwrap) std::printf("supervision bwrap can't be run here\n");
  for (const Work& work : worksOf(effort)) {
    const bool isLong = work.measured.starts_with("make");
    std::vector<double> alone, caged, ours;
    for (int i = 0; i < (effort == Effort::kQuick || isLong ? 1 : 5); ++i) {
      alone.push_back(ground.alone(work));
      if (bwrap) caged.push_back(ground.inBwrap(work));
      ours.push_back(ground.inSession(work));
    }
    const double value = quantile(ours, 0.5);
    report.add({"supervision", work.what, "s", value, Beside{"no sandbox", quantile(alone, 0.5)}, work.aim});
    if (bwrap) report.add({"supervision", work.what, "s", value, Beside{"bwrap", quantile(caged, 0.5)}});
  }
}

}  // namespace factionos::bench
