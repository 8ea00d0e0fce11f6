import { test as base, expect } from "@playwright/test";
import { type Board, boardSchema, type SubmissionDetail, submissionDetailSchema } from "../../lib/contract/api";

/** What the site under test holds, read through its public API. */
interface Site {
  published: Board;
  mini: Board;
  /** The reference set of this name on the bundled suite, with its attempts. */
  reference(name: string): Promise<SubmissionDetail>;
}

interface Fixtures {
  site: Site;
  /** Console errors that a test provokes on purpose. */
  expectedErrors: RegExp[];
  consoleErrors: string[];
}

/** The project's test: a console error or an uncaught exception that was not expected fails it. */
export const test = base.extend<Fixtures>({
  expectedErrors: [[], { option: true }],
  consoleErrors: [
    async ({ page, expectedErrors }, use) => {
      const errors: string[] = [];
      page.on("console", (message) => {
        errors.push(...(message.type() === "error" ? [message.text()] : []));
      });
      page.on("pageerror", (error) => errors.push(String(error)));
      await use(errors);
      expect(errors.filter((error) => !expectedErrors.some((expected) => expected.test(error)))).toEqual([]);
    },
    { auto: true },
  ],
  site: async ({ request }, use) => {
    const boardOf = async (suite: string) => {
      const answer = await request.get(`/api/v1/board?suite=${suite}`);
      expect(answer.status(), `the site under test holds the suite ${suite}`).toBe(200);
      return boardSchema.parse(await answer.json());
    };
    const mini = await boardOf("infradev-mini");
    await use({
      published: await boardOf("infradev"),
      mini,
      reference: async (name) => {
        const row = mini.references.find(({ entry }) => entry.model.endsWith(name));
        expect(row, `the site under test holds the reference set ${name}`).toBeDefined();
        const answer = await request.get(`/api/v1/submissions/${row?.submissionId}`);
        return submissionDetailSchema.parse(await answer.json());
      },
    });
  },
});

export { expect };
