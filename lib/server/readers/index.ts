export { type BoardRequest, getBoard } from "./board";
export { listPublished } from "./published";
export { getAttempt, getSubmission, shownPatchBytes } from "./submissions";
export { listSuites, type SuiteListItem } from "./suites";
