#include "broker/executors/git_view.h"

#include <optional>

#include "broker/audit/label.h"
#include "protocol/text.h"

namespace factionos::broker {
namespace {

using redaction::Boundary;
using redaction::Category;
using redaction::PublicBytes;

// Escapes make a text longer, by four at most, and markers a little.
std::size_t roomFor(std::size_t bytes) {
  return bytes * 4 + 4096;
}

// The name of an object: hexadecimal digits, or it is none.
std::vector<std::uint8_t> objectName(std::string_view hex) {
  std::vector<std::uint8_t> bytes;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const std::size_t high = kDigits.find(hex[i]);
    const std::size_t low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return bytes.size() == 20 ? bytes : std::vector<std::uint8_t>();
}

std::optional<PublicBytes> shown(capnp::Text::Reader hex) {
  const auto bytes = objectName(view(hex));
  return bytes.empty() ? std::nullopt : std::optional(PublicBytes::hex(bytes));
}

}  // namespace

redaction::Redacted<Boundary::kApiResponse> GitView::name(capnp::Text::Reader text) const {
  return Response::masked<Category::kFileName>(masks_.mask(view(text), roomFor(text.size())));
}

redaction::Redacted<Boundary::kApiResponse> GitView::content(capnp::Text::Reader text) const {
  return Response::masked<Category::kFileContents>(masks_.mask(view(text), roomFor(text.size())));
}

void GitView::fillPath(schema::GitPath::Reader path, Out<schema::GitPath> out) const {
  using P = schema::GitPath::Builder;
  const auto text = view(path.getText());
  const auto masked = masks_.mask(text, roomFor(text.size()));
  out.set(&P::setText, Response::masked<Category::kFileName>(masked));
  if (!path.hasBytes() && masked.text() == text) return;
  const auto bytes = path.getBytes();
  const std::string_view raw =
      path.hasBytes() ? std::string_view(reinterpret_cast<const char*>(bytes.begin()), bytes.size()) : text;
  out.set(&P::setBase64, Response::masked<Category::kFileName>(masks_.maskBytes(raw)));
}

void GitView::fillHead(schema::GitHead::Reader head, Out<schema::GitHead> out) const {
  using H = schema::GitHead::Builder;
  if (head.hasBranch()) out.set(&H::setBranch, name(head.getBranch()));
  if (const auto commit = shown(head.getCommit())) out.set(&H::setCommit, Response::bytes(*commit));
  if (head.hasUpstream()) out.set(&H::setUpstream, name(head.getUpstream()));
  out.set(&H::setAhead, head.getAhead());
  out.set(&H::setBehind, head.getBehind());
  if (const auto what = audit::Code::parse(view(head.getUnderway())))
    out.set(&H::setUnderway, Response::code(*what));
}

void GitView::fillStatus(schema::GitStatus::Reader status, Out<schema::GitStatus> out) const {
  using S = schema::GitStatus::Builder;
  using E = schema::GitStatusEntry::Builder;
  fillHead(status.getHead(), out.init(&S::initHead));
  const auto entries = status.getEntries();
  auto list = out.init(&S::initEntries, entries.size());
  for (unsigned i = 0; i < entries.size(); ++i) {
    const auto entry = entries[i];
    auto row = list[i];
    fillPath(entry.getPath(), row.init(&E::initPath));
    if (entry.hasOldPath()) fillPath(entry.getOldPath(), row.init(&E::initOldPath));
    row.set(&E::setIndex, entry.getIndex());
    row.set(&E::setWorktree, entry.getWorktree());
    row.set(&E::setConflict, entry.getConflict());
    row.set(&E::setUntracked, entry.getUntracked());
    row.set(&E::setSubmodule, entry.getSubmodule());
    row.set(&E::setUnjudged, entry.getUnjudged());
  }
  out.set(&S::setStaged, status.getStaged());
  out.set(&S::setUnstaged, status.getUnstaged());
  out.set(&S::setConflicts, status.getConflicts());
  out.set(&S::setUntracked, status.getUntracked());
  out.set(&S::setUnjudged, status.getUnjudged());
  out.set(&S::setTruncated, status.getTruncated());
  out.set(&S::setCountsTruncated, status.getCountsTruncated());
}

void GitView::fillDiff(schema::GitDiff::Reader diff, Out<schema::GitDiff> out) const {
  using D = schema::GitDiff::Builder;
  using F = schema::GitFileDiff::Builder;
  const auto files = diff.getFiles();
  auto list = out.init(&D::initFiles, files.size());
  for (unsigned i = 0; i < files.size(); ++i) {
    const auto file = files[i];
    auto row = list[i];
    fillPath(file.getPath(), row.init(&F::initPath));
    if (file.hasOldPath()) fillPath(file.getOldPath(), row.init(&F::initOldPath));
    row.set(&F::setEdit, file.getEdit());
    row.set(&F::setBinary, file.getBinary());
    row.set(&F::setHunks, file.getHunks());
    row.set(&F::setInsertions, file.getInsertions());
    row.set(&F::setDeletions, file.getDeletions());
    row.set(&F::setUnjudged, file.getUnjudged());
  }
  out.set(&D::setTotal, diff.getTotal());
  out.set(&D::setInsertions, diff.getInsertions());
  out.set(&D::setDeletions, diff.getDeletions());
  out.set(&D::setTruncated, diff.getTruncated());
  if (!diff.hasPatch()) return;
  const auto patch = diff.getPatch();
  const std::string_view raw(reinterpret_cast<const char*>(patch.begin()), patch.size());
  out.set(&D::setText, Response::masked<Category::kDiff>(masks_.mask(raw, roomFor(raw.size()))));
  out.set(&D::setPatchTotalBytes, diff.getPatchTotalBytes());
}

void GitView::fillPerson(schema::GitPerson::Reader person, Out<schema::GitPerson> out) const {
  using P = schema::GitPerson::Builder;
  out.set(&P::setName, content(person.getName()));
  out.set(&P::setEmail, content(person.getEmail()));
  out.set(&P::setTime, person.getTime());
  out.set(&P::setOffsetMinutes, person.getOffsetMinutes());
}

void GitView::fillCommit(schema::GitLogEntry::Reader commit, Out<schema::GitLogEntry> out) const {
  using C = schema::GitLogEntry::Builder;
  if (const auto id = shown(commit.getCommit())) out.set(&C::setCommit, Response::bytes(*id));
  const auto parents = commit.getParents();
  auto list = out.init(&C::initParents, parents.size());
  for (unsigned i = 0; i < parents.size(); ++i)
    if (const auto id = shown(parents[i])) list.set(i, Response::bytes(*id));
  fillPerson(commit.getAuthor(), out.init(&C::initAuthor));
  fillPerson(commit.getCommitter(), out.init(&C::initCommitter));
  out.set(&C::setSubject, content(commit.getSubject()));
}

void GitView::fillLog(schema::GitLog::Reader log, Out<schema::GitLog> out) const {
  using L = schema::GitLog::Builder;
  const auto commits = log.getCommits();
  auto list = out.init(&L::initCommits, commits.size());
  for (unsigned i = 0; i < commits.size(); ++i) fillCommit(commits[i], list[i]);
  out.set(&L::setMore, log.getMore());
}

void GitView::fillShow(schema::GitShow::Reader show, Out<schema::GitShow> out) const {
  using S = schema::GitShow::Builder;
  fillCommit(show.getCommit(), out.init(&S::initCommit));
  out.set(&S::setMessage, content(show.getMessage()));
  fillDiff(show.getDiff(), out.init(&S::initDiff));
}

void GitView::fillBranches(schema::GitBranches::Reader branches, Out<schema::GitBranches> out) const {
  using L = schema::GitBranches::Builder;
  using B = schema::GitBranch::Builder;
  const auto rows = branches.getBranches();
  auto list = out.init(&L::initBranches, rows.size());
  for (unsigned i = 0; i < rows.size(); ++i) {
    auto row = list[i];
    row.set(&B::setName, name(rows[i].getName()));
    if (const auto commit = shown(rows[i].getCommit())) row.set(&B::setCommit, Response::bytes(*commit));
    row.set(&B::setCurrent, rows[i].getCurrent());
    row.set(&B::setRemote, rows[i].getRemote());
    if (rows[i].hasUpstream()) row.set(&B::setUpstream, name(rows[i].getUpstream()));
    if (rows[i].hasWorktree()) row.set(&B::setWorktree, name(rows[i].getWorktree()));
  }
  out.set(&L::setTotal, branches.getTotal());
  out.set(&L::setTruncated, branches.getTruncated());
}

void GitView::fillWorktree(schema::GitWorktree::Reader worktree, Out<schema::GitWorktree> out) const {
  using W = schema::GitWorktree::Builder;
  if (worktree.hasName()) out.set(&W::setName, name(worktree.getName()));
  if (worktree.hasDirectory()) fillPath(worktree.getDirectory(), out.init(&W::initDirectory));
  if (worktree.hasBranch()) out.set(&W::setBranch, name(worktree.getBranch()));
  if (const auto commit = shown(worktree.getCommit())) out.set(&W::setCommit, Response::bytes(*commit));
  out.set(&W::setLocked, worktree.getLocked());
  out.set(&W::setMissing, worktree.getMissing());
  out.set(&W::setMain, worktree.getMain());
}

GitStored storedFrom(schema::GitOutcome::Reader outcome) {
  const auto labelled = [](capnp::Text::Reader text) {
    const auto label = audit::Label::parse(view(text));
    return label ? label->text() : std::string();
  };
  return {.commit = objectName(view(outcome.getCommit())),
          .branch = labelled(outcome.getBranch()),
          .files = outcome.getFiles(),
          .refs = outcome.getRefs(),
          .objects = outcome.getObjects(),
          .snapshot = labelled(outcome.getSnapshot())};
}

void fillOutcome(const GitStored& stored, actions::Outgoing<Boundary::kStateAtRest, schema::GitOutcome> out) {
  using Redactor = redaction::Redactor<Boundary::kStateAtRest>;
  using O = schema::GitOutcome::Builder;
  if (!stored.commit.empty()) out.set(&O::setCommit, Redactor::bytes(PublicBytes::hex(stored.commit)));
  if (!stored.branch.empty()) out.set(&O::setBranch, Redactor::label(audit::Label::of(stored.branch)));
  out.set(&O::setFiles, stored.files);
  out.set(&O::setRefs, stored.refs);
  out.set(&O::setObjects, stored.objects);
  if (!stored.snapshot.empty()) out.set(&O::setSnapshot, Redactor::label(audit::Label::of(stored.snapshot)));
}

}  // namespace factionos::broker
