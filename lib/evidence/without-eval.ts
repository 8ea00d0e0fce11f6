import { config } from "zod";

// zod compiles schemas with `new Function` where it may; a strict Content-Security-Policy forbids that and reports the
// attempt. It decides when a schema is made, so this module stands before the import of any schema.
config({ jitless: true });
