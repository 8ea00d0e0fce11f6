// The import table of README.md ("The house"), enforced. Each rule names a place and all that it may import of ours.
const places = {
  "lib/contract": ["lib/contract"],
  "lib/stats": ["lib/stats"],
  "lib/format": ["lib/format"],
  "lib/taxonomy": ["lib/taxonomy", "lib/contract", "lib/stats"],
  "lib/trajectory": ["lib/trajectory", "lib/contract"],
  "lib/self-tests": ["lib/self-tests", "lib/contract", "lib/trajectory"],
  "lib/evidence": ["lib/evidence", "lib/contract"],
  "lib/prepare": ["lib/prepare", "lib/contract", "lib/stats", "lib/format"],
  "db/schema": ["db/schema", "lib/contract"],
  "db/queries": ["db/queries", "db/schema", "db/client", "lib/contract", "lib/stats"],
  db: ["db", "lib/contract"],
  "lib/server": [
    "lib/server",
    "lib/contract",
    "lib/stats",
    "lib/taxonomy",
    "lib/self-tests",
    "lib/trajectory",
    "lib/evidence",
    "lib/prepare",
    "lib/format",
    "db",
  ],
  components: ["components", "lib/contract", "lib/prepare", "lib/format", "lib/evidence/browser-verify"],
  app: ["app", "components", "lib/server", "lib/contract", "lib/prepare", "lib/format", "lib/stats"],
  runner: ["runner", "lib/contract", "lib/evidence", "lib/taxonomy", "lib/trajectory"],
  e2e: ["e2e", "lib/contract", "lib/prepare", "db"],
  bench: ["bench", "e2e", "lib", "db", "runner"],
};
const ours = "^(app|bench|components|db|e2e|lib|runner)/";
const pathOf = (place) => `^${place}(/|\\.|$)`;

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    ...Object.entries(places).map(([place, allowed]) => ({
      name: `${place.replaceAll("/", "-")}-imports`,
      severity: "error",
      from: {
        path: pathOf(place),
        // A more particular place has a rule of its own; tests may reach the test support of other places.
        pathNot: [
          ...Object.keys(places)
            .filter((other) => other.startsWith(`${place}/`))
            .map(pathOf),
          "\\.test\\.tsx?$",
        ],
      },
      to: { path: ours, pathNot: allowed.map(pathOf) },
    })),
    {
      name: "contract-npm",
      comment: "lib/contract imports zod only",
      severity: "error",
      from: { path: "^lib/contract/" },
      to: { dependencyTypes: ["npm", "npm-dev", "npm-optional", "core"], pathNot: "^node_modules/zod/" },
    },
    {
      name: "pure",
      comment: "mathematics, formats and preparation use no package and no Node",
      severity: "error",
      from: { path: "^lib/(stats|format|prepare|taxonomy)/", pathNot: "\\.test\\.ts$" },
      to: { dependencyTypes: ["npm", "npm-dev", "core"] },
    },
    {
      name: "browser-evidence",
      comment: "what the Verify button runs uses no Node; only lib/evidence/node does",
      severity: "error",
      from: { path: "^lib/evidence/[^/]+\\.ts$", pathNot: "(\\.test|/testing)\\.ts$" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "runner-speaks-http",
      comment: "the runner never knows the database or the web framework",
      severity: "error",
      from: { path: "^runner/" },
      to: { path: "^node_modules/(next|react|drizzle-orm|postgres)/" },
    },
    {
      name: "queries-know-no-framework",
      severity: "error",
      from: { path: "^db/" },
      to: { path: "^node_modules/(next|react)/" },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true, viaOnly: { pathNot: "^node_modules" } } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^(\\.next|\\.data|dist|node_modules)" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "require", "node", "default"] },
  },
};
