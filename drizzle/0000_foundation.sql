CREATE TABLE "failure" (
	"grading_id" uuid NOT NULL,
	"test_id" integer NOT NULL,
	"status" text NOT NULL,
	"root_rank" integer,
	"exception_type" text,
	"message" text NOT NULL,
	"signature" text NOT NULL,
	CONSTRAINT "failure_grading_id_test_id_pk" PRIMARY KEY("grading_id","test_id"),
	CONSTRAINT "failure_status_word" CHECK ("failure"."status" in ('passed', 'failed', 'error', 'crashed', 'hung', 'skipped', 'not-run'))
);
--> statement-breakpoint
CREATE TABLE "grading" (
	"id" uuid PRIMARY KEY NOT NULL,
	"attempt_id" uuid NOT NULL,
	"lease_id" uuid,
	"nonce" text,
	"host_id" uuid,
	"keyid" text NOT NULL,
	"status" text NOT NULL,
	"reason" jsonb,
	"executor" text NOT NULL,
	"sandboxed" boolean NOT NULL,
	"tier" text NOT NULL,
	"late" boolean DEFAULT false NOT NULL,
	"invalidated_at" timestamp (3) with time zone,
	"started_at" timestamp (3) with time zone NOT NULL,
	"finished_at" timestamp (3) with time zone NOT NULL,
	"duration_ms" double precision NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL,
	"required_total" integer NOT NULL,
	"required_passed" integer NOT NULL,
	"official_total" integer NOT NULL,
	"official_passed" integer NOT NULL,
	"resolved" boolean NOT NULL,
	"official_resolved" boolean NOT NULL,
	"runner_version" text NOT NULL,
	"bundle_sha256" text NOT NULL,
	"bundle_bytes" integer NOT NULL,
	"envelopes" text NOT NULL,
	"sums" text NOT NULL,
	"receipt" text,
	"launches" jsonb NOT NULL,
	"host" jsonb NOT NULL,
	"guard" jsonb NOT NULL,
	"extra_tests" jsonb NOT NULL,
	CONSTRAINT "grading_bundle_sha256_unique" UNIQUE("bundle_sha256"),
	CONSTRAINT "grading_lease" UNIQUE("lease_id"),
	CONSTRAINT "grading_status_word" CHECK ("grading"."status" in ('completed', 'patch-rejected', 'candidate-timeout', 'infra', 'tampered', 'canceled')),
	CONSTRAINT "grading_executor_word" CHECK ("grading"."executor" in ('bwrap', 'process', 'podman', 'docker', 'slurm')),
	CONSTRAINT "grading_tier_word" CHECK ("grading"."tier" in ('reported', 'signed', 'verified', 'reproduced'))
);
--> statement-breakpoint
CREATE TABLE "label" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"grading_id" uuid NOT NULL,
	"test_id" integer NOT NULL,
	"class" text NOT NULL,
	"type" text NOT NULL,
	"source" text NOT NULL,
	"rule" text,
	"rules_version" text,
	"tags" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "label_source_word" CHECK ("label"."source" in ('rule', 'person'))
);
--> statement-breakpoint
CREATE TABLE "outcome" (
	"grading_id" uuid NOT NULL,
	"test_id" integer NOT NULL,
	"status" text NOT NULL,
	"duration_ms" double precision,
	"root_rank" integer,
	CONSTRAINT "outcome_grading_id_test_id_pk" PRIMARY KEY("grading_id","test_id"),
	CONSTRAINT "outcome_status_word" CHECK ("outcome"."status" in ('passed', 'failed', 'error', 'crashed', 'hung', 'skipped', 'not-run'))
);
--> statement-breakpoint
CREATE TABLE "payload_file" (
	"grading_id" uuid NOT NULL,
	"path" text NOT NULL,
	"sha256" text NOT NULL,
	"bytes" integer NOT NULL,
	CONSTRAINT "payload_file_grading_id_path_pk" PRIMARY KEY("grading_id","path")
);
--> statement-breakpoint
CREATE TABLE "rank_outcome" (
	"grading_id" uuid NOT NULL,
	"test_id" integer NOT NULL,
	"rank" integer NOT NULL,
	"status" text NOT NULL,
	"launch" integer,
	"started_at" timestamp (3) with time zone,
	"duration_ms" double precision,
	"log_line" integer,
	"failure" jsonb,
	CONSTRAINT "rank_outcome_grading_id_test_id_rank_pk" PRIMARY KEY("grading_id","test_id","rank"),
	CONSTRAINT "rank_outcome_status_word" CHECK ("rank_outcome"."status" in ('passed', 'failed', 'error', 'crashed', 'hung', 'skipped', 'not-run'))
);
--> statement-breakpoint
CREATE TABLE "resource_measure" (
	"grading_id" uuid NOT NULL,
	"test_id" integer NOT NULL,
	"rank" integer NOT NULL,
	"position" integer NOT NULL,
	"name" text NOT NULL,
	"property" text,
	"value" double precision NOT NULL,
	"limit_value" double precision NOT NULL,
	"unit" text NOT NULL,
	"repeats" integer NOT NULL,
	"met" boolean NOT NULL,
	CONSTRAINT "resource_measure_grading_id_test_id_rank_position_pk" PRIMARY KEY("grading_id","test_id","rank","position")
);
--> statement-breakpoint
CREATE TABLE "host" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"name" text NOT NULL,
	"organization_id" integer NOT NULL,
	"credential_hash" text NOT NULL,
	"facts" jsonb NOT NULL,
	"runner_version" text NOT NULL,
	"registered_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"last_seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"trusted_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "host_credential_hash_unique" UNIQUE("credential_hash")
);
--> statement-breakpoint
CREATE TABLE "signing_key" (
	"keyid" text PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"owner" text NOT NULL,
	"spki" "bytea" NOT NULL,
	"host_id" uuid,
	"organization_id" integer,
	"valid_from" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"valid_until" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"compromised_since" timestamp (3) with time zone,
	CONSTRAINT "signing_key_role_word" CHECK ("signing_key"."role" in ('runner', 'vendor', 'server'))
);
--> statement-breakpoint
CREATE TABLE "registration_token" (
	"hash" text PRIMARY KEY NOT NULL,
	"organization_id" integer NOT NULL,
	"name" text,
	"trusted" text DEFAULT 'no' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"used_at" timestamp (3) with time zone,
	"host_id" uuid,
	CONSTRAINT "registration_token_trusted_word" CHECK ("registration_token"."trusted" in ('yes', 'no'))
);
--> statement-breakpoint
CREATE TABLE "job" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"attempt_id" uuid NOT NULL,
	"task_id" integer NOT NULL,
	"state" text DEFAULT 'queued' NOT NULL,
	"priority" integer DEFAULT 0 NOT NULL,
	"not_before" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"infra_retries" integer DEFAULT 0 NOT NULL,
	"avoid_host_id" uuid,
	"cancel_requested_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp (3) with time zone,
	"finish_status" text,
	"reason" text,
	CONSTRAINT "job_state_word" CHECK ("job"."state" in ('queued', 'leased', 'preparing', 'running', 'uploading', 'finished', 'lost')),
	CONSTRAINT "job_finish_word" CHECK ("job"."finish_status" in ('completed', 'patch-rejected', 'candidate-timeout', 'infra', 'tampered', 'canceled'))
);
--> statement-breakpoint
CREATE TABLE "lease" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"job_id" uuid NOT NULL,
	"host_id" uuid NOT NULL,
	"grading_id" uuid NOT NULL,
	"nonce" text NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"job_state" text DEFAULT 'leased' NOT NULL,
	"progress" text,
	"granted_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"renewed_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone,
	"finish_status" text,
	"bundle_sha256" text,
	"verdict" text,
	CONSTRAINT "lease_grading_id_unique" UNIQUE("grading_id"),
	CONSTRAINT "lease_nonce_unique" UNIQUE("nonce"),
	CONSTRAINT "lease_state_word" CHECK ("lease"."state" in ('active', 'finished', 'lost', 'ended')),
	CONSTRAINT "lease_job_state_word" CHECK ("lease"."job_state" in ('queued', 'leased', 'preparing', 'running', 'uploading', 'finished', 'lost'))
);
--> statement-breakpoint
CREATE TABLE "upload" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"lease_id" uuid,
	"keyid" text,
	"sha256" text NOT NULL,
	"bytes" integer NOT NULL,
	"complete" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "upload_lease_digest" UNIQUE("lease_id","sha256")
);
--> statement-breakpoint
CREATE TABLE "audit_event" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"subject" text NOT NULL,
	"detail" text,
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_record" (
	"position" bigint PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"grading_id" uuid,
	"record" "bytea" NOT NULL,
	"leaf_hash" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "organization" (
	"id" serial PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "organization_slug_unique" UNIQUE("slug")
);
--> statement-breakpoint
CREATE TABLE "published_figure" (
	"source_id" integer NOT NULL,
	"table_key" text NOT NULL,
	"row_key" text NOT NULL,
	"row_label" text NOT NULL,
	"row_position" integer NOT NULL,
	"column_key" text NOT NULL,
	"column_position" integer NOT NULL,
	"value" double precision NOT NULL,
	"printed" text NOT NULL,
	"unit" text NOT NULL,
	"footnote" text,
	CONSTRAINT "published_figure_source_id_table_key_row_key_column_key_pk" PRIMARY KEY("source_id","table_key","row_key","column_key")
);
--> statement-breakpoint
CREATE TABLE "published_source" (
	"id" serial PRIMARY KEY NOT NULL,
	"key" text NOT NULL,
	"title" text NOT NULL,
	"url" text NOT NULL,
	"published" text NOT NULL,
	"extent" text NOT NULL,
	CONSTRAINT "published_source_key_unique" UNIQUE("key")
);
--> statement-breakpoint
CREATE TABLE "published_table" (
	"source_id" integer NOT NULL,
	"key" text NOT NULL,
	"position" integer NOT NULL,
	"title" text NOT NULL,
	"repository" text,
	"missing" jsonb NOT NULL,
	"note" text,
	CONSTRAINT "published_table_source_id_key_pk" PRIMARY KEY("source_id","key")
);
--> statement-breakpoint
CREATE TABLE "attempt_summary" (
	"attempt_id" uuid PRIMARY KEY NOT NULL,
	"submission_id" uuid NOT NULL,
	"task_id" integer NOT NULL,
	"grading_id" uuid NOT NULL,
	"tier" text NOT NULL,
	"status" text NOT NULL,
	"verdict" text NOT NULL,
	"required_total" integer NOT NULL,
	"required_passed" integer NOT NULL,
	"official_total" integer NOT NULL,
	"official_passed" integer NOT NULL,
	"resolved" boolean NOT NULL,
	"official_resolved" boolean NOT NULL,
	CONSTRAINT "attempt_summary_tier_word" CHECK ("attempt_summary"."tier" in ('reported', 'signed', 'verified', 'reproduced')),
	CONSTRAINT "attempt_summary_status_word" CHECK ("attempt_summary"."status" in ('completed', 'patch-rejected', 'candidate-timeout', 'infra', 'tampered', 'canceled')),
	CONSTRAINT "attempt_summary_verdict_word" CHECK ("attempt_summary"."verdict" in ('resolved', 'probe-rejected', 'failed', 'missing'))
);
--> statement-breakpoint
CREATE TABLE "attempt" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"submission_id" uuid NOT NULL,
	"task_id" integer NOT NULL,
	"ordinal" integer DEFAULT 1 NOT NULL,
	"label" text,
	"patch_sha256" text NOT NULL,
	"patch_bytes" integer NOT NULL,
	"time_min" double precision,
	"cost_usd" double precision,
	"steps" integer,
	"input_tokens" bigint,
	"cache_read_tokens" bigint,
	"cache_write_tokens" bigint,
	"output_tokens" bigint,
	"reasoning_tokens" bigint,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "attempt_submission_task_ordinal" UNIQUE("submission_id","task_id","ordinal")
);
--> statement-breakpoint
CREATE TABLE "entry" (
	"id" serial PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"kind" text NOT NULL,
	"model" text NOT NULL,
	"agent" text,
	"agent_version" text,
	"reasoning_effort" text,
	"prompt_condition" text NOT NULL,
	"skill_name" text,
	"skill_digest" text,
	"network_policy" text NOT NULL,
	"budget_time_min" double precision,
	"budget_cost_usd" double precision,
	"budget_tokens_m" double precision,
	"budget_steps" integer,
	"config_digest" text NOT NULL,
	CONSTRAINT "entry_slug_unique" UNIQUE("slug"),
	CONSTRAINT "entry_config_digest_unique" UNIQUE("config_digest"),
	CONSTRAINT "entry_kind_word" CHECK ("entry"."kind" in ('model', 'reference')),
	CONSTRAINT "entry_condition_word" CHECK ("entry"."prompt_condition" in ('interface', 'pr-description')),
	CONSTRAINT "entry_network_word" CHECK ("entry"."network_policy" in ('none', 'model-endpoint-only', 'open', 'not-stated'))
);
--> statement-breakpoint
CREATE TABLE "submission_category_summary" (
	"submission_id" uuid NOT NULL,
	"category" text NOT NULL,
	"task_count" integer NOT NULL,
	"resolved_count" double precision NOT NULL,
	"official_resolved_count" double precision,
	CONSTRAINT "submission_category_summary_submission_id_category_pk" PRIMARY KEY("submission_id","category"),
	CONSTRAINT "submission_category_summary_category_word" CHECK ("submission_category_summary"."category" in ('training', 'inference', 'rl'))
);
--> statement-breakpoint
CREATE TABLE "submission_summary" (
	"submission_id" uuid PRIMARY KEY NOT NULL,
	"tier" text NOT NULL,
	"task_count" integer NOT NULL,
	"graded_count" integer NOT NULL,
	"resolved_count" double precision,
	"resolved_pct" double precision NOT NULL,
	"official_resolved_count" double precision,
	"probe_rejected_count" integer,
	"official_resolved_attempts" integer,
	"passed_pct" double precision,
	"time_min" double precision,
	"cost_usd" double precision,
	"tokens_m" double precision,
	"steps" double precision,
	"provisional" boolean DEFAULT false NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "submission_summary_tier_word" CHECK ("submission_summary"."tier" in ('reported', 'signed', 'verified', 'reproduced'))
);
--> statement-breakpoint
CREATE TABLE "submission" (
	"id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
	"suite_id" integer NOT NULL,
	"entry_id" integer NOT NULL,
	"organization_id" integer NOT NULL,
	"source_id" integer,
	"footnotes" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"published_at" timestamp (3) with time zone,
	"withdrawn_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "suite" (
	"id" serial PRIMARY KEY NOT NULL,
	"slug" text NOT NULL,
	"version" text NOT NULL,
	"title" text NOT NULL,
	"summary" text NOT NULL,
	"probes" text NOT NULL,
	"task_count" integer NOT NULL,
	"training_count" integer NOT NULL,
	"inference_count" integer NOT NULL,
	"rl_count" integer NOT NULL,
	"source_id" integer,
	"position" integer DEFAULT 100 NOT NULL,
	"imported_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "suite_slug_version" UNIQUE("slug","version"),
	CONSTRAINT "suite_probes_word" CHECK ("suite"."probes" in ('open', 'hidden'))
);
--> statement-breakpoint
CREATE TABLE "task_prompt" (
	"task_id" integer NOT NULL,
	"condition" text NOT NULL,
	"is_default" boolean NOT NULL,
	"text" text NOT NULL,
	"digest" text NOT NULL,
	CONSTRAINT "task_prompt_task_id_condition_pk" PRIMARY KEY("task_id","condition"),
	CONSTRAINT "task_prompt_condition_word" CHECK ("task_prompt"."condition" in ('interface', 'pr-description'))
);
--> statement-breakpoint
CREATE TABLE "task_test" (
	"id" serial PRIMARY KEY NOT NULL,
	"task_id" integer NOT NULL,
	"name" text NOT NULL,
	"position" integer NOT NULL,
	"kind" text NOT NULL,
	"expectation" text NOT NULL,
	"property" text NOT NULL,
	"required" boolean NOT NULL,
	"definition" jsonb NOT NULL,
	CONSTRAINT "task_test_task_name" UNIQUE("task_id","name"),
	CONSTRAINT "task_test_kind_word" CHECK ("task_test"."kind" in ('official', 'probe')),
	CONSTRAINT "task_test_expectation_word" CHECK ("task_test"."expectation" in ('f2p', 'p2p')),
	CONSTRAINT "task_test_property_word" CHECK ("task_test"."property" in ('value', 'shape-layout-dtype', 'state-lifecycle', 'resource.memory', 'resource.speed', 'resource.traffic', 'condition'))
);
--> statement-breakpoint
CREATE TABLE "task" (
	"id" serial PRIMARY KEY NOT NULL,
	"suite_id" integer NOT NULL,
	"slug" text NOT NULL,
	"title" text NOT NULL,
	"repo" text NOT NULL,
	"category" text NOT NULL,
	"type" text NOT NULL,
	"position" integer NOT NULL,
	"base_tree" text NOT NULL,
	"base_commit" text,
	"gpus_grade" integer NOT NULL,
	"ranks" integer NOT NULL,
	"grading_digest" text NOT NULL,
	"manifest" jsonb NOT NULL,
	"interfaces" jsonb NOT NULL,
	CONSTRAINT "task_suite_slug" UNIQUE("suite_id","slug"),
	CONSTRAINT "task_category_word" CHECK ("task"."category" in ('training', 'inference', 'rl')),
	CONSTRAINT "task_type_word" CHECK ("task"."type" in ('feature', 'performance', 'refactor', 'bugfix'))
);
--> statement-breakpoint
CREATE TABLE "taxonomy_type" (
	"version" text NOT NULL,
	"type" text NOT NULL,
	"class" text NOT NULL,
	"title" text NOT NULL,
	"meaning" text NOT NULL,
	"position" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "taxonomy_type_version_type_pk" PRIMARY KEY("version","type")
);
--> statement-breakpoint
ALTER TABLE "failure" ADD CONSTRAINT "failure_grading_id_grading_id_fk" FOREIGN KEY ("grading_id") REFERENCES "public"."grading"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grading" ADD CONSTRAINT "grading_attempt_id_attempt_id_fk" FOREIGN KEY ("attempt_id") REFERENCES "public"."attempt"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grading" ADD CONSTRAINT "grading_host_id_host_id_fk" FOREIGN KEY ("host_id") REFERENCES "public"."host"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grading" ADD CONSTRAINT "grading_keyid_signing_key_keyid_fk" FOREIGN KEY ("keyid") REFERENCES "public"."signing_key"("keyid") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "label" ADD CONSTRAINT "label_grading_id_grading_id_fk" FOREIGN KEY ("grading_id") REFERENCES "public"."grading"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "outcome" ADD CONSTRAINT "outcome_grading_id_grading_id_fk" FOREIGN KEY ("grading_id") REFERENCES "public"."grading"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "outcome" ADD CONSTRAINT "outcome_test_id_task_test_id_fk" FOREIGN KEY ("test_id") REFERENCES "public"."task_test"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payload_file" ADD CONSTRAINT "payload_file_grading_id_grading_id_fk" FOREIGN KEY ("grading_id") REFERENCES "public"."grading"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "rank_outcome" ADD CONSTRAINT "rank_outcome_grading_id_grading_id_fk" FOREIGN KEY ("grading_id") REFERENCES "public"."grading"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD CONSTRAINT "resource_measure_grading_id_grading_id_fk" FOREIGN KEY ("grading_id") REFERENCES "public"."grading"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "host" ADD CONSTRAINT "host_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signing_key" ADD CONSTRAINT "signing_key_host_id_host_id_fk" FOREIGN KEY ("host_id") REFERENCES "public"."host"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "signing_key" ADD CONSTRAINT "signing_key_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registration_token" ADD CONSTRAINT "registration_token_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registration_token" ADD CONSTRAINT "registration_token_host_id_host_id_fk" FOREIGN KEY ("host_id") REFERENCES "public"."host"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "job" ADD CONSTRAINT "job_attempt_id_attempt_id_fk" FOREIGN KEY ("attempt_id") REFERENCES "public"."attempt"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "job" ADD CONSTRAINT "job_task_id_task_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."task"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "job" ADD CONSTRAINT "job_avoid_host_id_host_id_fk" FOREIGN KEY ("avoid_host_id") REFERENCES "public"."host"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lease" ADD CONSTRAINT "lease_job_id_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."job"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lease" ADD CONSTRAINT "lease_host_id_host_id_fk" FOREIGN KEY ("host_id") REFERENCES "public"."host"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "upload" ADD CONSTRAINT "upload_lease_id_lease_id_fk" FOREIGN KEY ("lease_id") REFERENCES "public"."lease"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "published_table" ADD CONSTRAINT "published_table_source_id_published_source_id_fk" FOREIGN KEY ("source_id") REFERENCES "public"."published_source"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempt_summary" ADD CONSTRAINT "attempt_summary_attempt_id_attempt_id_fk" FOREIGN KEY ("attempt_id") REFERENCES "public"."attempt"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempt_summary" ADD CONSTRAINT "attempt_summary_submission_id_submission_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submission"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempt_summary" ADD CONSTRAINT "attempt_summary_task_id_task_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."task"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempt" ADD CONSTRAINT "attempt_submission_id_submission_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submission"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "attempt" ADD CONSTRAINT "attempt_task_id_task_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."task"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "submission_category_summary" ADD CONSTRAINT "submission_category_summary_submission_id_submission_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submission"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "submission_summary" ADD CONSTRAINT "submission_summary_submission_id_submission_id_fk" FOREIGN KEY ("submission_id") REFERENCES "public"."submission"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "submission" ADD CONSTRAINT "submission_suite_id_suite_id_fk" FOREIGN KEY ("suite_id") REFERENCES "public"."suite"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "submission" ADD CONSTRAINT "submission_entry_id_entry_id_fk" FOREIGN KEY ("entry_id") REFERENCES "public"."entry"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "submission" ADD CONSTRAINT "submission_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "submission" ADD CONSTRAINT "submission_source_id_published_source_id_fk" FOREIGN KEY ("source_id") REFERENCES "public"."published_source"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "suite" ADD CONSTRAINT "suite_source_id_published_source_id_fk" FOREIGN KEY ("source_id") REFERENCES "public"."published_source"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_prompt" ADD CONSTRAINT "task_prompt_task_id_task_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."task"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task_test" ADD CONSTRAINT "task_test_task_id_task_id_fk" FOREIGN KEY ("task_id") REFERENCES "public"."task"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "task" ADD CONSTRAINT "task_suite_id_suite_id_fk" FOREIGN KEY ("suite_id") REFERENCES "public"."suite"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "failure_signature" ON "failure" USING btree ("signature");--> statement-breakpoint
CREATE INDEX "grading_attempt" ON "grading" USING btree ("attempt_id");--> statement-breakpoint
CREATE INDEX "grading_key" ON "grading" USING btree ("keyid");--> statement-breakpoint
CREATE INDEX "label_failure" ON "label" USING btree ("grading_id","test_id");--> statement-breakpoint
CREATE INDEX "signing_key_host" ON "signing_key" USING btree ("host_id");--> statement-breakpoint
CREATE INDEX "job_claim" ON "job" USING btree ("state","priority","created_at");--> statement-breakpoint
CREATE INDEX "job_attempt" ON "job" USING btree ("attempt_id");--> statement-breakpoint
CREATE INDEX "lease_active" ON "lease" USING btree ("state","expires_at");--> statement-breakpoint
CREATE INDEX "lease_job" ON "lease" USING btree ("job_id");--> statement-breakpoint
CREATE INDEX "log_record_grading" ON "log_record" USING btree ("grading_id");--> statement-breakpoint
CREATE INDEX "published_figure_order" ON "published_figure" USING btree ("source_id","table_key","row_position","column_position");--> statement-breakpoint
CREATE INDEX "attempt_summary_submission" ON "attempt_summary" USING btree ("submission_id");--> statement-breakpoint
CREATE INDEX "attempt_task" ON "attempt" USING btree ("task_id");--> statement-breakpoint
CREATE INDEX "submission_board" ON "submission" USING btree ("suite_id","entry_id","published_at");--> statement-breakpoint
CREATE INDEX "task_grading_digest" ON "task" USING btree ("grading_digest");