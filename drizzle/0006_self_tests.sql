CREATE TABLE "attempt_self_test" (
	"attempt_id" uuid PRIMARY KEY NOT NULL,
	"rules_version" text NOT NULL,
	"tests" integer NOT NULL,
	"assertions" integer NOT NULL,
	"checks" text[] NOT NULL,
	CONSTRAINT "attempt_self_test_checks_word" CHECK ("attempt_self_test"."checks" <@ array['value', 'shape-layout-dtype', 'state-lifecycle', 'resource.memory', 'resource.speed', 'resource.traffic', 'condition'])
);
--> statement-breakpoint
ALTER TABLE "attempt_self_test" ADD CONSTRAINT "attempt_self_test_attempt_id_attempt_id_fk" FOREIGN KEY ("attempt_id") REFERENCES "public"."attempt"("id") ON DELETE cascade ON UPDATE no action;