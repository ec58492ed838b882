#include "workers/git/ident.h"

#include <memory>

#include <git2/sys/filter.h>

#include "workers/git/handles.h"
#include "workers/git/repository.h"

namespace factionos::git {
namespace {

constexpr std::string_view kOpened = "Id:";

bool isOneLine(std::string_view text) {
  return text.find('\n') == std::string_view::npos;
}

// Gathers a file, and hands it on when it is whole. Nothing is thrown through libgit2.
struct Gathering : git_writestream {
  git_filter_mode_t mode;
  git_writestream* next;  // borrowed, as libgit2 closes and frees each by itself
  std::string text = {};
};

template <typename Work>
int guarded(Work work) {
  try {
    return work();
  } catch (...) {
    return -1;
  }
}

std::string converted(const Gathering& gathering) {
  if (gathering.mode == GIT_FILTER_TO_ODB) return identCleaned(gathering.text);
  git_oid id;
  must(git_odb_hash(&id, gathering.text.data(), gathering.text.size(), GIT_OBJECT_BLOB));
  return identExpanded(gathering.text, hexOf(id));
}

int gather(git_writestream* stream, const char* data, std::size_t size) {
  return guarded([&]() {
    static_cast<Gathering*>(stream)->text.append(data, size);
    return 0;
  });
}

int handOn(git_writestream* stream) {
  return guarded([&]() {
    const auto& gathering = *static_cast<Gathering*>(stream);
    const std::string made = converted(gathering);
    const int error = gathering.next->write(gathering.next, made.data(), made.size());
    return error < 0 ? error : gathering.next->close(gathering.next);
  });
}

void release(git_writestream* stream) {
  delete static_cast<Gathering*>(stream);
}

int begin(git_writestream** out, git_filter*, void**, const git_filter_source* source,
          git_writestream* next) {
  return guarded([&]() {
    *out = std::make_unique<Gathering>(
               Gathering{{gather, handOn, release}, git_filter_source_mode(source), next})
               .release();
    return 0;
  });
}

int passBy(git_filter*, void**, const git_filter_source*, const char**) {
  return GIT_PASSTHROUGH;
}

}  // namespace

std::string identCleaned(std::string_view text) {
  std::string made;
  for (std::size_t dollar = 0; (dollar = text.find('$')) != std::string_view::npos;) {
    made += text.substr(0, dollar + 1);
    text.remove_prefix(dollar + 1);
    if (!text.starts_with(kOpened)) continue;
    const std::size_t end = text.find('$', kOpened.size());
    if (end == std::string_view::npos) break;
    if (!isOneLine(text.substr(0, end))) continue;
    made += "Id$";
    text.remove_prefix(end + 1);
  }
  return made.append(text);
}

std::string identExpanded(std::string_view text, std::string_view id) {
  const std::string expanded = "Id: " + std::string(id) + " $";
  std::string made;
  for (std::size_t dollar = 0; (dollar = text.find('$')) != std::string_view::npos;) {
    made += text.substr(0, dollar + 1);
    text.remove_prefix(dollar + 1);
    std::size_t end = 2;
    if (text.starts_with(kOpened)) {
      end = text.find('$', kOpened.size());
      if (end == std::string_view::npos) break;
      // Words: a name of some other system's, and not of a blob.
      const std::size_t blank = text.find(' ', kOpened.size() + 1);
      if (!isOneLine(text.substr(0, end)) || blank < end - 1) continue;
    } else if (!text.starts_with("Id$")) {
      continue;
    }
    made += expanded;
    text.remove_prefix(end + 1);
  }
  return made.append(text);
}

void useOwnIdent() {
  static git_filter own{};
  must(git_filter_init(&own, GIT_FILTER_VERSION));
  own.attributes = "+ident";
  own.stream = begin;
  // git's order: before the line ends on the way to the working tree, behind them on the way back.
  must(git_filter_register("factionos-ident", &own, GIT_FILTER_CRLF_PRIORITY - 1));
  // A built-in one can't be taken away.
  if (git_filter* const builtIn = git_filter_lookup(GIT_FILTER_IDENT)) builtIn->check = passBy;
}

}  // namespace factionos::git
