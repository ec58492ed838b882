#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include <simdjson.h>
#include <sodium.h>

#include "broker/cli/commands.h"
#include "broker/cli/guarded_call.h"

namespace factionos::cli {
namespace {

struct Options {
  std::string workspace;
  std::string path;
  std::string pathBase64;
  std::string from;
  std::string oldText;
  std::string newText;
  std::string entry;
  std::string digest;
  std::string after;
  std::uint64_t offset = 0;
  std::uint32_t length = 65536;
  std::uint32_t limit = 200;
  bool everywhere = false;
  bool parents = false;
  bool kept = false;
  bool detail = false;
  bool base64 = false;
  std::optional<std::string> token;
};

constexpr std::size_t kLargestContent = std::size_t{1} << 20;

std::string contentOf(const std::string& from) {
  std::ifstream file;
  const bool standardInput = from.empty() || from == "-";
  if (!standardInput) {
    file.open(from, std::ios::binary);
    if (!file) throw Stop(kUsage, "--from: the file can't be read");
  }
  std::istream& in = standardInput ? std::cin : file;
  std::string content{std::istreambuf_iterator<char>(in), {}};
  if (content.size() > kLargestContent) throw Stop(kUsage, "more than 1 MiB can't be written at once");
  return content;
}

std::string base64Of(const std::string& bytes) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();
  return text;
}

// The members of a request body, in order.
class Body {
 public:
  explicit Body(const Options& options) {
    add("workspace", jsonText(options.workspace));
    if (!options.path.empty()) add("path", jsonText(options.path));
    if (!options.pathBase64.empty()) add("pathBase64", jsonText(options.pathBase64));
  }
  Body& add(const char* name, const std::string& json) {
    text_ += (text_.empty() ? "\"" : ",\"") + std::string(name) + "\":" + json;
    return *this;
  }
  Body& text(const char* name, const std::string& value) {
    return value.empty() ? *this : add(name, jsonText(value));
  }
  Body& flag(const char* name, bool value) { return value ? add(name, "true") : *this; }
  Body& number(const char* name, std::uint64_t value) { return add(name, std::to_string(value)); }
  [[nodiscard]] const std::string& members() const { return text_; }

 private:
  std::string text_;
};

class FileCommands {
 public:
  FileCommands(const Context& context, const Options& options)
      : context_(context), options_(options), call_(context, options.token) {}

  int list() {
    Body body(options_);
    body.text("after", options_.after).number("limit", options_.limit).flag("kept", options_.kept);
    const auto reply = call_.read("/v1/file/list", body.members());
    return shown(reply, [](simdjson::dom::element document) {
      for (const auto entry : document["entries"].get_array()) {
        std::cout << textOf(entry, "kind") << '\t' << numberOf(entry, "size") << '\t'
                  << textOf(entry, "modifiedAt") << '\t' << textOf(entry, "name");
        if (const auto id = textOf(entry, "entry"); !id.empty())
          std::cout << '\t' << id << '\t' << textOf(entry, "operation");
        std::cout << '\n';
      }
      if (const auto next = textOf(document, "next"); !next.empty())
        std::cerr << "more: --after " << next << '\n';
    });
  }

  int stat() { return shown(call_.read("/v1/file/stat", Body(options_).members()), showFile); }

  int read() {
    Body body(options_);
    body.number("offset", options_.offset).number("length", options_.length);
    if (options_.base64) body.text("encoding", "base64");
    return shown(call_.read("/v1/file/read", body.members()), [](simdjson::dom::element document) {
      const simdjson::dom::element content = document["content"].value();
      std::cout << textOf(content, "text") << textOf(content, "base64");
      bool exact = false;
      if (content["exact"].get(exact) == simdjson::SUCCESS && !exact)
        std::cerr << "factionos: not byte for byte: secrets are masked, controls shown as escapes\n";
    });
  }

  int diff() {
    Body body(options_);
    if (!options_.from.empty()) body.text("contentBase64", base64Of(contentOf(options_.from)));
    if (!options_.oldText.empty())
      body.text("oldText", options_.oldText).add("newText", jsonText(options_.newText));
    body.text("entry", options_.entry)
        .flag("replaceAll", options_.everywhere)
        .flag("detail", options_.detail);
    return shown(call_.read("/v1/file/diff", body.members()), [](simdjson::dom::element document) {
      const simdjson::dom::element changes = document["changes"].value();
      std::cout << numberOf(changes, "hunks") << " hunks, " << numberOf(changes, "insertions")
                << " insertions, " << numberOf(changes, "deletions") << " deletions\n"
                << textOf(changes, "text");
    });
  }

  int write() {
    Body body(options_);
    body.add("contentBase64", jsonText(base64Of(contentOf(options_.from))));
    body.text("expectedDigest", presentDigest()).flag("makeParents", options_.parents);
    return changed("/v1/file/write", body);
  }

  int edit() {
    Body body(options_);
    body.add("oldText", jsonText(options_.oldText)).add("newText", jsonText(options_.newText));
    body.text("expectedDigest", options_.digest).flag("replaceAll", options_.everywhere);
    return changed("/v1/file/edit", body);
  }

  int remove() { return changed("/v1/file/delete", Body(options_).text("expectedDigest", options_.digest)); }

  int restore() { return changed("/v1/file/restore", Body(options_).text("entry", options_.entry)); }

 private:
  // What is replaced is what is there now, unless the caller says what it expects.
  std::string presentDigest() {
    if (!options_.digest.empty()) return options_.digest;
    const auto reply = call_.read("/v1/file/stat", Body(options_).members());
    simdjson::dom::parser parser;
    const simdjson::dom::element document = parser.parse(reply.body);
    return textOf(document["file"].value(), "digest");
  }

  int changed(const std::string& route, const Body& body) {
    return shown(call_.guarded(route, body.members()), showFile);
  }

  static void showFile(simdjson::dom::element document) {
    const simdjson::dom::element file = document["file"].value();
    std::cout << textOf(file, "kind") << '\t' << numberOf(file, "size") << '\t' << textOf(file, "mode")
              << '\t' << textOf(file, "digest") << '\n';
  }

  template <typename Show>
  int shown(const HttpReply& reply, Show show) const {
    if (context_.json()) {
      std::cout << reply.body << '\n';
      return kDone;
    }
    simdjson::dom::parser parser;
    show(parser.parse(reply.body).value());
    return kDone;
  }

  const Context& context_;
  const Options& options_;
  GuardedCall call_;
};

using Run = int (FileCommands::*)();

CLI::App* add(CLI::App& file, Context& context, Action& action, const std::shared_ptr<Options>& options,
              const char* name, const char* what, Run run) {
  auto* command = file.add_subcommand(name, what);
  command->add_option("workspace", options->workspace, "the workspace's name")->required();
  command->add_option("path", options->path, "relative to the workspace");
  command->add_option("--path-base64", options->pathBase64, "the path, where a name is no UTF-8");
  command->add_option("--token", options->token, "a bearer token, instead of this user's own rights")
      ->envname("FACTIONOS_TOKEN");
  command->callback([&context, &action, options, run]() {
    action = [&context, options, run]() { return (FileCommands(context, *options).*run)(); };
  });
  return command;
}

void addEditOptions(CLI::App* command, Options& options) {
  command->add_option("--old", options.oldText, "the text that is there exactly once");
  command->add_option("--new", options.newText, "what takes its place");
  command->add_flag("--all", options.everywhere, "replace it wherever it is");
}

}  // namespace

void addFileCommands(CLI::App& app, Context& context, Action& action) {
  auto* file = app.add_subcommand("file", "read and change the files of a workspace through the broker");
  file->require_subcommand(1);
  const auto options = std::make_shared<Options>();
  const auto command = [&](const char* name, const char* what, Run run) {
    return add(*file, context, action, options, name, what, run);
  };
  auto* list = command("list", "entries of a directory, or the copies that are kept", &FileCommands::list);
  list->add_flag("--kept", options->kept, "what was kept of changed and deleted files, newest first");
  list->add_option("--after", options->after, "the page after the one that named this");
  list->add_option("--limit", options->limit, "entries at most, 1 to 1000");
  command("stat", "what is at a path", &FileCommands::stat);
  auto* read = command("read", "a piece of a file, secrets masked", &FileCommands::read);
  read->add_option("--offset", options->offset, "first byte");
  read->add_option("--length", options->length, "bytes at most, 1 to 1048576");
  read->add_flag("--base64", options->base64, "bytes instead of text");
  auto* diff = command("diff", "what a write, an edit or a restoration would change", &FileCommands::diff);
  diff->add_option("--from", options->from, "the content of a write, from a file or - for standard input");
  addEditOptions(diff, *options);
  diff->add_option("--entry", options->entry, "the action whose copy would be restored");
  diff->add_flag("--detail", options->detail, "the lines, not the counts alone");
  auto* write = command("write", "make or replace a file", &FileCommands::write);
  options->from = "";
  write->add_option("--from", options->from, "the content: a file, or - for standard input (default)");
  write->add_option("--expect", options->digest, "the digest of what is replaced (default: what is there)");
  write->add_flag("--parents", options->parents, "make missing directories");
  auto* edit = command("edit", "replace a text that is in the file exactly once", &FileCommands::edit);
  addEditOptions(edit, *options);
  edit->add_option("--expect", options->digest, "the digest of what is changed");
  auto* remove = command("delete", "remove a file; a copy is kept", &FileCommands::remove);
  remove->add_option("--expect", options->digest, "the digest of what is removed");
  auto* restore = command("restore", "bring a kept copy back", &FileCommands::restore);
  restore->add_option("--entry", options->entry, "the action whose copy it is (default: the newest)");
}

}  // namespace factionos::cli
