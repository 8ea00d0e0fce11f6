CREATE TABLE "person_credential" (
	"id" text PRIMARY KEY NOT NULL,
	"person_id" text NOT NULL,
	"account_id" text NOT NULL,
	"provider_id" text NOT NULL,
	"password" text,
	"access_token" text,
	"refresh_token" text,
	"id_token" text,
	"access_token_expires_at" timestamp (3) with time zone,
	"refresh_token_expires_at" timestamp (3) with time zone,
	"scope" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "person_session" (
	"id" text PRIMARY KEY NOT NULL,
	"person_id" text NOT NULL,
	"token" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"ip_address" text,
	"user_agent" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "person_session_token_unique" UNIQUE("token")
);
--> statement-breakpoint
CREATE TABLE "person_verification" (
	"id" text PRIMARY KEY NOT NULL,
	"identifier" text NOT NULL,
	"value" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "person" (
	"id" text PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"email_verified" boolean DEFAULT false NOT NULL,
	"name" text NOT NULL,
	"image" text,
	"role" text,
	"pseudonym" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "person_email_unique" UNIQUE("email"),
	CONSTRAINT "person_pseudonym_unique" UNIQUE("pseudonym"),
	CONSTRAINT "person_role_word" CHECK ("person"."role" in ('annotator', 'maintainer'))
);
--> statement-breakpoint
CREATE TABLE "sign_in_window" (
	"key" text PRIMARY KEY NOT NULL,
	"attempts" integer NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "label_withdrawal" (
	"label_id" bigint PRIMARY KEY NOT NULL,
	"person_id" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "label" ADD COLUMN "person_id" text;--> statement-breakpoint
ALTER TABLE "label" ADD COLUMN "note" text;--> statement-breakpoint
ALTER TABLE "label" ADD COLUMN "batch" uuid;--> statement-breakpoint
ALTER TABLE "label" ADD COLUMN "adjudicates" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "person_credential" ADD CONSTRAINT "person_credential_person_id_person_id_fk" FOREIGN KEY ("person_id") REFERENCES "public"."person"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "person_session" ADD CONSTRAINT "person_session_person_id_person_id_fk" FOREIGN KEY ("person_id") REFERENCES "public"."person"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "label_withdrawal" ADD CONSTRAINT "label_withdrawal_label_id_label_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."label"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "label_withdrawal" ADD CONSTRAINT "label_withdrawal_person_id_person_id_fk" FOREIGN KEY ("person_id") REFERENCES "public"."person"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "person_credential_person" ON "person_credential" USING btree ("person_id");--> statement-breakpoint
CREATE INDEX "person_session_person" ON "person_session" USING btree ("person_id");--> statement-breakpoint
ALTER TABLE "label" ADD CONSTRAINT "label_person_id_person_id_fk" FOREIGN KEY ("person_id") REFERENCES "public"."person"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "label_person" ON "label" USING btree ("person_id","id");