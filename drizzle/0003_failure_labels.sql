ALTER TABLE "failure" ADD COLUMN "line" text;--> statement-breakpoint
ALTER TABLE "failure" ADD COLUMN "class" text;--> statement-breakpoint
ALTER TABLE "failure" ADD COLUMN "type" text;--> statement-breakpoint
ALTER TABLE "failure" ADD COLUMN "tags" jsonb;--> statement-breakpoint
ALTER TABLE "failure" ADD COLUMN "label_source" text;--> statement-breakpoint
ALTER TABLE "label" ADD COLUMN "confidence" text;--> statement-breakpoint
ALTER TABLE "label" ADD COLUMN "evidence" jsonb;--> statement-breakpoint
-- The label that counts until now: the newest person's, else the newest rule's.
UPDATE "failure" SET
  "line" = left(split_part(btrim("own"."message", E' \n\r\t'), E'\n', 1), 300),
  "class" = coalesce("newest"."class", 'unclassified'),
  "type" = coalesce("newest"."type", 'unclassified'),
  "tags" = coalesce("newest"."tags", '[]'::jsonb),
  "label_source" = coalesce("newest"."source", 'rule')
FROM "failure" "own" LEFT JOIN LATERAL (
  SELECT "class", "type", "tags", "source" FROM "label"
  WHERE "label"."grading_id" = "own"."grading_id" AND "label"."test_id" = "own"."test_id"
  ORDER BY "source" = 'person' DESC, "id" DESC LIMIT 1
) "newest" ON true
WHERE "own"."grading_id" = "failure"."grading_id" AND "own"."test_id" = "failure"."test_id";--> statement-breakpoint
ALTER TABLE "failure" ALTER COLUMN "line" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "failure" ALTER COLUMN "class" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "failure" ALTER COLUMN "type" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "failure" ALTER COLUMN "tags" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "failure" ALTER COLUMN "label_source" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "failure" ADD CONSTRAINT "failure_label_source_word" CHECK ("failure"."label_source" in ('rule', 'person'));--> statement-breakpoint
ALTER TABLE "label" ADD CONSTRAINT "label_confidence_word" CHECK ("label"."confidence" in ('certain', 'likely', 'weak', 'none'));