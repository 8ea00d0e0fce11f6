ALTER TABLE "outcome" ADD COLUMN "usage" jsonb;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "meter" text;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "spread_min" double precision;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "spread_max" double precision;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "relative_to" text;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "reference_value" double precision;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "measured_value" double precision;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "side_unit" text;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD COLUMN "accuracy" text;--> statement-breakpoint
ALTER TABLE "resource_measure" ADD CONSTRAINT "resource_measure_meter_word" CHECK ("resource_measure"."meter" in ('test', 'wall-clock', 'gpu-memory', 'host-memory', 'transport', 'nvlink', 'nccl'));--> statement-breakpoint
ALTER TABLE "resource_measure" ADD CONSTRAINT "resource_measure_relative_word" CHECK ("resource_measure"."relative_to" in ('base', 'gold'));