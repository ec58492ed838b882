// The main path as a client made from openapi.json sees it: preview, propose, approve (by the operator's CLI), run, read, replay.
import {execFileSync, spawn} from 'node:child_process';
import {mkdtempSync, mkdirSync, readFileSync, rmSync, chownSync} from 'node:fs';
import assert from 'node:assert/strict';
import generator from 'openapi-client-axios';

// A CommonJS module: its class is `default`, or the module itself.
const OpenAPIClientAxios = generator.OpenAPIClientAxios ?? generator.default ?? generator;
const [cli, document] = process.argv.slice(2);
const root = mkdtempSync('/var/tmp/factionos-client.');
// The product never runs as root.
const identity = {};
if (process.getuid() === 0) {
  const user = process.env.FACTIONOS_TEST_USER ?? 'nobody';
  identity.uid = Number(execFileSync('id', ['-u', user]));
  identity.gid = Number(execFileSync('id', ['-g', user]));
  chownSync(root, identity.uid, identity.gid);
}
const options = {...identity, env: {PATH: '/usr/local/bin:/usr/bin:/bin', HOME: root, FACTIONOS_HOME: `${root}/home`}, encoding: 'utf8'};
const factionos = (...args) => execFileSync(cli, args, {...options, stdio: ['ignore', 'pipe', 'inherit']});

let broker;
try {
  factionos('init', '--no-passphrase');
  mkdirSync(`${root}/ws`);
  if (identity.uid !== undefined) chownSync(`${root}/ws`, identity.uid, identity.gid);
  factionos('workspace', 'add', 'demo', `${root}/ws`);
  broker = spawn(cli, ['serve', '--listen', '127.0.0.1:0', '--print-address'], {...options, stdio: ['ignore', 'pipe', 'inherit']});
  const address = await new Promise((resolve, reject) => {
    broker.stdout.once('data', (data) => resolve(String(data).trim()));
    broker.once('exit', (code) => reject(new Error(`the broker ended with ${code}`)));
  });
  const token = factionos('token', 'create', 'client', '--scope', 'read,propose').trim();

  const api = new OpenAPIClientAxios({definition: JSON.parse(readFileSync(document, 'utf8'))});
  const client = await api.init();
  client.defaults.baseURL = `http://${address}`;
  client.defaults.headers.common.Authorization = `Bearer ${token}`;
  client.defaults.validateStatus = () => true;

  const served = await client.get('/openapi.json');
  assert.deepEqual(served.data, JSON.parse(readFileSync(document, 'utf8')), 'what is served is what is in the tree');

  const request = {workspace: 'demo', command: ['sh', '-c', 'echo from a generated client; exit 4']};
  const preview = await client.terminalPreview(null, request);
  assert.equal(preview.status, 200);
  assert.equal(preview.data.decision, 'ask');

  const key = {headers: {'Idempotency-Key': 'generated-1'}};
  const proposed = await client.terminalRun(null, request, key);
  assert.equal(proposed.status, 202);
  const {id, revision} = proposed.data.action;
  factionos('approve', id, '--revision', String(revision), '--yes');
  const action = await client.actionGet({id});
  assert.equal(action.data.action.state, 'approved');

  const approval = {actionId: id, expectedRevision: action.data.action.revision};
  const started = await client.terminalRun(null, {...request, approval}, key);
  assert.equal(started.status, 201);
  let session;
  do {
    session = (await client.sessionGet({id: started.data.session.id, waitMs: 1000})).data.session;
  } while (session.state !== 'ended');
  assert.equal(session.exit.code, 4);
  assert.equal(session.output.text, 'from a generated client\n');

  const replayed = await client.terminalRun(null, {...request, approval}, key);
  assert.equal(replayed.status, 201);
  assert.equal(replayed.headers['idempotency-replayed'], 'true');
  assert.deepEqual(replayed.data, started.data);

  const refused = await client.terminalRun(null, {workspace: 'demo'}, {headers: {'Idempotency-Key': 'generated-2'}});
  assert.equal(refused.status, 400);
  assert.equal(refused.data.code, 'invalid_request');
  const verdict = await client.auditVerify();
  assert.equal(verdict.data.verdict.intact, true);
  console.log('the generated client drove the main path');
} finally {
  broker?.removeAllListeners('exit');
  broker?.kill('SIGTERM');
  await new Promise((resolve) => (broker === undefined || broker.exitCode !== null ? resolve() : broker.once('exit', resolve)));
  rmSync(root, {recursive: true, force: true});
}
