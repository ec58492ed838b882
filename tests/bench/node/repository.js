// node repository.js status|commit|write|read FOLDER COUNT
// What an agent in Node does instead of asking the broker: git as a child process, files by fs. One line for each of
// COUNT times, in milliseconds; what is made ready before each is not measured.
'use strict';
const {execFileSync} = require('child_process');
const fs = require('fs');
const path = require('path');

const [what, folder, count] = process.argv.slice(2);
const environment = {PATH: process.env.PATH, HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null'};
const git = (...words) =>
  execFileSync('git', words, {cwd: folder, env: environment, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore']});

function writeDurably(file, content) {
  const temporary = file + '.new';
  const handle = fs.openSync(temporary, 'w');
  fs.writeSync(handle, content);
  fs.fsyncSync(handle);
  fs.closeSync(handle);
  fs.renameSync(temporary, file);
  const directory = fs.openSync(path.dirname(file), 'r');
  fs.fsyncSync(directory);
  fs.closeSync(directory);
}

const file = path.join(folder, 'bench.txt');
const kinds = {
  status: {ready: () => {}, run: () => git('status', '--porcelain=2', '-z')},
  commit: {
    ready: (i) => {
      fs.writeFileSync(file, 'node ' + process.hrtime.bigint() + i);
      git('add', 'bench.txt');
    },
    run: () => git('commit', '-q', '-m', 'measured'),
  },
  write: {ready: () => {}, run: (i) => writeDurably(file, 'x'.repeat(4096) + i)},
  read: {ready: () => {}, run: () => fs.readFileSync(file, 'utf8')},
};

const {ready, run} = kinds[what];
for (let i = 0; i < Number(count); ++i) {
  ready(i);
  const begin = process.hrtime.bigint();
  run(i);
  console.log(Number(process.hrtime.bigint() - begin) / 1e6);
}
