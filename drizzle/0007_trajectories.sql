CREATE TABLE "attempt_trajectory" (
	"attempt_id" uuid PRIMARY KEY NOT NULL,
	"sha256" text NOT NULL,
	"bytes" bigint NOT NULL,
	"steps_sha256" text NOT NULL,
	"steps_bytes" bigint NOT NULL,
	"version" text NOT NULL,
	"agent" text NOT NULL,
	"agent_version" text NOT NULL,
	"model" text,
	"steps" integer NOT NULL,
	"agent_steps" integer NOT NULL,
	"tool_calls" integer NOT NULL,
	"subagents" integer NOT NULL,
	"started_at" timestamp (3) with time zone,
	"ended_at" timestamp (3) with time zone,
	"prompt_tokens" bigint,
	"completion_tokens" bigint,
	"cached_tokens" bigint,
	"cost_usd" double precision,
	"differing" text[] NOT NULL,
	CONSTRAINT "attempt_trajectory_version_word" CHECK ("attempt_trajectory"."version" in ('ATIF-v1.0', 'ATIF-v1.1', 'ATIF-v1.2', 'ATIF-v1.3', 'ATIF-v1.4', 'ATIF-v1.5', 'ATIF-v1.6', 'ATIF-v1.7'))
);
--> statement-breakpoint
ALTER TABLE "attempt_self_test" ALTER COLUMN "tests" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "attempt_self_test" ALTER COLUMN "assertions" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "attempt_self_test" ALTER COLUMN "checks" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "attempt_self_test" ADD COLUMN "commands" integer;--> statement-breakpoint
ALTER TABLE "attempt_self_test" ADD COLUMN "test_runs" integer;--> statement-breakpoint
ALTER TABLE "attempt_self_test" ADD COLUMN "command_checks" text[];--> statement-breakpoint
ALTER TABLE "attempt_trajectory" ADD CONSTRAINT "attempt_trajectory_attempt_id_attempt_id_fk" FOREIGN KEY ("attempt_id") REFERENCES "public"."attempt"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempt_self_test" ADD CONSTRAINT "attempt_self_test_command_checks_word" CHECK ("attempt_self_test"."command_checks" <@ array['value', 'shape-layout-dtype', 'state-lifecycle', 'resource.memory', 'resource.speed', 'resource.traffic', 'condition']);