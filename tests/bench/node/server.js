// node server.js read|write TOKEN FOLDER
// The same work as the routes that are measured: compare the token's digest, parse or write JSON; in `write`
// mode insert one row, durable before the answer.
'use strict';
const http = require('http');
const crypto = require('crypto');
const fs = require('fs');
const path = require('path');

const [mode, token, folder] = process.argv.slice(2);
const digestOf = (text) => crypto.createHash('sha256').update(text).digest();
const known = digestOf(token);

function authorized(request) {
  const header = request.headers.authorization || '';
  return header.startsWith('Bearer ') && crypto.timingSafeEqual(digestOf(header.slice(7)), known);
}

function answer(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': crypto.randomUUID(),
  });
  response.end(body);
}

let insert = null;
if (mode === 'write') {
  const Database = require('better-sqlite3');
  const database = new Database(path.join(folder, 'node.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE events(id TEXT PRIMARY KEY, source TEXT, kind TEXT, fields INT, time INT, dedupe BLOB UNIQUE)');
  insert = database.prepare('INSERT OR IGNORE INTO events VALUES(?, ?, ?, ?, ?, ?)');
}
const snapshot = mode === 'read' ? JSON.parse(fs.readFileSync(path.join(folder, 'reply.json'), 'utf8')) : null;
let count = 0;

const server = http.createServer((request, response) => {
  if (!authorized(request)) return answer(response, 401, {code: 'unauthenticated'});
  if (mode === 'read') return answer(response, 200, snapshot);
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const text = Buffer.concat(chunks);
    const event = JSON.parse(text.toString('utf8'));
    const id = 'evt_' + String(++count).padStart(26, '0');
    insert.run(id, event.source, event.event, Object.keys(event.payload).length, Date.now(), digestOf(text));
    answer(response, 202, {eventId: id, accepted: true});
  });
});
server.keepAliveTimeout = 60000;
server.listen(0, '127.0.0.1', () => console.log('listening ' + server.address().port));
