#pragma once

namespace factionos::state {

class Database;

// The tables, as a list of steps: PRAGMA user_version says how many a file has taken. A step is never changed
// once it was released; a new one is added.

// Throws kForeign if the file is a database of something else, kNewerSchema if a later version wrote it.
void requireOurs(Database& database);
// As requireOurs(), and the file must have today's schema.
void requireSchema(Database& database);
// Takes the steps that are missing, all or none.
void migrate(Database& database);

}  // namespace factionos::state
