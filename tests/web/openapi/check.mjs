// Usage: node check.mjs OPENAPI_JSON SAMPLES_JSONL
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const [documentPath, samplesPath] = process.argv.slice(2);
const specification = JSON.parse(readFileSync(documentPath, "utf8"));
let failures = 0;

function fail(message, detail) {
  failures += 1;
  if (failures <= 20) console.error(message, JSON.stringify(detail, null, 1) ?? "");
}

async function checkDocument() {
  const validator = new Validator();
  const result = await validator.validate(structuredClone(specification));
  if (!result.valid) fail("the document is not valid OpenAPI", result.errors);
  if (validator.version !== "3.1") fail("the document is not OpenAPI 3.1", validator.version);
  validator.resolveRefs();

  // The check itself is checked: a document that is broken must not pass.
  const broken = structuredClone(specification);
  delete broken.info.version;
  if ((await new Validator().validate(broken)).valid) fail("a broken document passes");
}

// Every member that a reply may have is declared, although readers must put up with members that they don't know.
function closed(schema) {
  if (Array.isArray(schema)) return schema.map(closed);
  if (schema === null || typeof schema !== "object") return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  if (copy.type === "object" && copy.properties && !("additionalProperties" in copy)) copy.additionalProperties = false;
  return copy;
}

function checkSamples() {
  const ajv = new Ajv2020({ strict: true, allErrors: true, strictRequired: false, strictTypes: false });
  addFormats(ajv);
  for (const keyword of ["components", "x-factionos-minBytes", "x-factionos-maxBytes"]) ajv.addKeyword(keyword);
  ajv.addSchema({ $id: "https://factionos.invalid/openapi", components: { schemas: closed(specification.components.schemas) } });
  const seen = new Set();
  for (const line of readFileSync(samplesPath, "utf8").trim().split("\n")) {
    const { schema, value } = JSON.parse(line);
    const validate = ajv.getSchema(`https://factionos.invalid/openapi#/components/schemas/${schema}`);
    seen.add(schema);
    if (!validate) fail("no such schema", schema);
    else if (!validate(value)) fail(`${schema} does not describe what is written`, { value, errors: validate.errors });
  }
  for (const name of Object.keys(specification.components.schemas)) {
    const isRoot = name.endsWith("Reply") || /^Problem\d+$/.test(name);
    if (isRoot && !seen.has(name)) fail("a schema without a sample", name);
  }
  const validate = ajv.getSchema("https://factionos.invalid/openapi#/components/schemas/TerminalRunRequest");
  for (const bad of [{}, { workspace: 1 }, { workspace: "demo", other: 1 }, { workspace: "demo", cols: 1001 }]) {
    if (validate(bad)) fail("a bad request passes", bad);
  }
  return seen.size;
}

await checkDocument();
const schemas = checkSamples();
if (failures > 0) {
  console.error(`${failures} failures`);
  process.exit(1);
}
console.log(`valid OpenAPI 3.1; samples of ${schemas} schemas agree`);
