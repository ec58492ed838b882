#include "broker/state/database.h"

#include <filesystem>

#include <sqlite3.h>
#include <sys/stat.h>

#include "tests/unit/state/state_fixture.h"

namespace factionos::state {
namespace {

std::string pragma(Database& database, const char* name) {
  Statement statement(database, std::string_view(name));
  if (!statement.step()) return "";
  try {
    return std::to_string(statement.integer());
  } catch (const StateUnavailable&) {
    return statement.text();
  }
}

class DatabaseTest : public ::testing::Test {
 protected:
  testing::TempHome home;
  std::filesystem::path file = home.path() / "state.db";
};

TEST_F(DatabaseTest, IsSetUpForDurabilityAndSecrecy) {
  Database database(file, Access::kReadWrite);
  EXPECT_EQ(pragma(database, "PRAGMA journal_mode"), "wal");
  EXPECT_EQ(pragma(database, "PRAGMA synchronous"), "2");
  EXPECT_EQ(pragma(database, "PRAGMA foreign_keys"), "1");
  EXPECT_EQ(pragma(database, "PRAGMA secure_delete"), "1");
  EXPECT_EQ(pragma(database, "PRAGMA temp_store"), "2");
  EXPECT_EQ(pragma(database, "PRAGMA mmap_size"), "0");
  EXPECT_EQ(pragma(database, "PRAGMA busy_timeout"), std::to_string(kBusyTimeoutMs));
}

TEST_F(DatabaseTest, EveryFileIsPrivateAndLiesInTheStateDirectory) {
  const mode_t before = ::umask(0);
  Database database(file, Access::kReadWrite);
  database.execute("INSERT INTO meta VALUES ('x', 1)");
  ::umask(before);
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(home.path())) {
    struct stat status {};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777U, 0600U) << entry.path();
    ++seen;
  }
  EXPECT_EQ(seen, 3) << "the file, its log and its index";
}

TEST_F(DatabaseTest, RefusesAFileThatOthersCanReadOrThatIsALink) {
  { Database database(file, Access::kReadWrite); }
  std::filesystem::permissions(file, std::filesystem::perms(0644));
  EXPECT_EQ(faultOf([&] { Database(file, Access::kReadWrite); }), StateFault::kUnsafeFile);
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  std::filesystem::create_symlink(file, home.path() / "link.db");
  EXPECT_EQ(faultOf([&] { Database(home.path() / "link.db", Access::kReadWrite); }), StateFault::kUnsafeFile);
  EXPECT_NO_THROW(Database(file, Access::kReadWrite));
}

TEST_F(DatabaseTest, HomeMayLieBehindALink) {
  const testing::TempHome other;
  std::filesystem::create_directory_symlink(home.path(), other.path() / "home");
  EXPECT_NO_THROW(Database(other.path() / "home" / "state.db", Access::kReadWrite));
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(DatabaseTest, RefusesALaterSchema) {
  {
    Database database(file, Access::kReadWrite);
    database.execute("PRAGMA user_version=99");
  }
  EXPECT_EQ(faultOf([&] { Database(file, Access::kReadWrite); }), StateFault::kNewerSchema);
  EXPECT_EQ(faultOf([&] { Database(file, Access::kReadOnly); }), StateFault::kNewerSchema);
}

TEST_F(DatabaseTest, RefusesAnotherProgramsDatabase) {
  sqlite3* foreign = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &foreign), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(foreign, "CREATE TABLE actions (x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(foreign);
  std::filesystem::permissions(file, std::filesystem::perms(0600));
  EXPECT_EQ(faultOf([&] { Database(file, Access::kReadWrite); }), StateFault::kForeign);
}

TEST_F(DatabaseTest, NamesADamagedFile) {
  {
    Database database(file, Access::kReadWrite);
    ActionTable table(database);
    IdGenerator ids;
    database.execute("BEGIN");
    for (int i = 0; i < 200; ++i) {
      ActionRow row = actionOf(ids.next(IdKind::kAction));
      table.insert(row);
    }
    database.execute("COMMIT");
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string good = testing::readFile(file);
  std::string bad = good;
  bad.replace(0, 16, std::string(16, 'x'));
  testing::overwriteFile(file, bad);
  EXPECT_EQ(faultOf([&] { Database(file, Access::kReadWrite); }), StateFault::kCorrupt);
  bad = good;
  for (std::size_t page = 4096; page < bad.size(); page += 4096)
    bad.replace(page, 200, std::string(200, '\x7f'));
  testing::overwriteFile(file, bad);
  EXPECT_EQ(faultOf([&] { Database(file, Access::kReadWrite); }), StateFault::kCorrupt);
  testing::overwriteFile(file, good);
  EXPECT_NO_THROW(Database(file, Access::kReadWrite));
}

TEST_F(DatabaseTest, ReadConnectionSeesCommitsAndChangesNothing) {
  Database writer(file, Access::kReadWrite);
  Database reader(file, Access::kReadOnly);
  ActionRow row = actionOf("act_01HZX3V7QK8M2N4P6R8T0V2W4Y");
  writer.execute("BEGIN");
  ActionTable(writer).insert(row);
  EXPECT_FALSE(ActionTable(reader).find(row.id)) << "not committed yet";
  writer.execute("COMMIT");
  EXPECT_TRUE(ActionTable(reader).find(row.id));
  EXPECT_THROW(reader.execute("DELETE FROM actions"), StateUnavailable);
}

TEST_F(DatabaseTest, ReadConnectionNeedsAFile) {
  EXPECT_EQ(faultOf([&] { Database(file, Access::kReadOnly); }), StateFault::kIo);
}

TEST_F(DatabaseTest, I7_RefusesRowsThatHoldRawText) {
  Database database(file, Access::kReadWrite);
  ActionRow row = actionOf("act_01HZX3V7QK8M2N4P6R8T0V2W4Y");
  ActionTable(database).insert(row);
  Statement(database, "UPDATE actions SET target = ?").bind("rm -rf / --no-preserve-root").run();
  EXPECT_EQ(faultOf([&] { ActionTable(database).find(row.id); }), StateFault::kCorrupt);
}

TEST_F(DatabaseTest, DeletedRowsAreOverwritten) {
  const std::string canary = "canary-label-0123";
  {
    Database database(file, Access::kReadWrite);
    ActionRow row = actionOf("act_01HZX3V7QK8M2N4P6R8T0V2W4Y");
    row.target = Label::of(canary);
    ActionTable(database).insert(row);
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    ASSERT_NE(testing::readFile(file).find(canary), std::string::npos) << "control: it is there before";
    database.execute("DELETE FROM actions");
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  EXPECT_EQ(testing::readFile(file).find(canary), std::string::npos);
}

}  // namespace
}  // namespace factionos::state
