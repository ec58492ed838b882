#include "workers/git/config_backend.h"

#include <algorithm>
#include <memory>

#include <git2/sys/config.h>

namespace factionos::git {
namespace {

// From 1.9 on an entry of a backend is a struct around the entry that its reader sees.
#if LIBGIT2_VER_MAJOR > 1 || LIBGIT2_VER_MINOR >= 9
using BackendEntry = git_config_backend_entry;
git_config_entry& body(BackendEntry& entry) {
  return entry.entry;
}
#else
using BackendEntry = git_config_entry;
git_config_entry& body(BackendEntry& entry) {
  return entry;
}
#endif

// An entry is the backend's: who asked for it may keep what it points to as long as there is a configuration.
struct Entry : BackendEntry {
  ConfigEntry text;
};
using Entries = std::shared_ptr<std::vector<Entry>>;

struct Backend : git_config_backend {
  Entries entries;
};

Entries entriesOf(std::vector<ConfigEntry> texts) {
  auto entries = std::make_shared<std::vector<Entry>>(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Entry& entry = (*entries)[i];
    entry.text = std::move(texts[i]);
    body(entry).name = entry.text.key.c_str();
    body(entry).value = entry.text.hasValue ? entry.text.value.c_str() : nullptr;
    body(entry).level = GIT_CONFIG_LEVEL_LOCAL;
    entry.free = [](BackendEntry*) {};
  }
  return entries;
}

struct Iterator : git_config_iterator {
  Entries entries;
  std::size_t at = 0;
};

int next(BackendEntry** out, git_config_iterator* base) {
  auto* iterator = static_cast<Iterator*>(base);
  if (iterator->at == iterator->entries->size()) return GIT_ITEROVER;
  *out = &(*iterator->entries)[iterator->at++];
  return 0;
}

int iterate(git_config_iterator** out, git_config_backend* base) {
  auto* backend = static_cast<Backend*>(base);
  auto* iterator = new Iterator{};
  iterator->backend = base;
  iterator->next = next;
  iterator->free = [](git_config_iterator* which) { delete static_cast<Iterator*>(which); };
  iterator->entries = backend->entries;
  *out = iterator;
  return 0;
}

// The last one of a name holds.
int get(git_config_backend* base, const char* key, BackendEntry** out) {
  auto* backend = static_cast<Backend*>(base);
  const auto found = std::find_if(backend->entries->rbegin(), backend->entries->rend(),
                                  [key](const Entry& entry) { return entry.text.key == key; });
  if (found == backend->entries->rend()) return GIT_ENOTFOUND;
  *out = &*found;
  return 0;
}

git_config_backend* makeBackend(Entries entries);

int snapshot(git_config_backend** out, git_config_backend* base) {
  *out = makeBackend(static_cast<Backend*>(base)->entries);
  return 0;
}

// GIT_EREADONLY came later than 1.5.
constexpr int kReadOnly = GIT_ERROR;

git_config_backend* makeBackend(Entries entries) {
  auto* backend = new Backend{};
  git_config_init_backend(backend, GIT_CONFIG_BACKEND_VERSION);
  backend->readonly = 1;
  backend->entries = std::move(entries);
  backend->open = [](git_config_backend*, git_config_level_t, const git_repository*) { return 0; };
  backend->get = get;
  backend->iterator = iterate;
  backend->snapshot = snapshot;
  backend->set = [](git_config_backend*, const char*, const char*) { return kReadOnly; };
  backend->set_multivar = [](git_config_backend*, const char*, const char*, const char*) {
    return kReadOnly;
  };
  backend->del = [](git_config_backend*, const char*) { return kReadOnly; };
  backend->del_multivar = [](git_config_backend*, const char*, const char*) { return kReadOnly; };
  backend->lock = [](git_config_backend*) { return kReadOnly; };
  backend->unlock = [](git_config_backend*, int) { return kReadOnly; };
  backend->free = [](git_config_backend* base) { delete static_cast<Backend*>(base); };
  return backend;
}

}  // namespace

Config makeConfig(std::vector<ConfigEntry> entries) {
  auto config = make<Config>(git_config_new);
  git_config_backend* backend = makeBackend(entriesOf(std::move(entries)));
  const int error = git_config_add_backend(config.get(), backend, GIT_CONFIG_LEVEL_LOCAL, nullptr, 0);
  if (error < 0) backend->free(backend);
  must(error);
  return config;
}

}  // namespace factionos::git
