export { getBoard } from "./board";
export { listRecentChanges } from "./changes";
export { getEntry, listEntries } from "./entries";
export { getLogPage } from "./logs";
export { listPublished } from "./published";
export { getAttempt, getEntrySubmission, getSubmission } from "./submissions";
export { listSuites, type SuiteListItem } from "./suites";
export { search } from "./search";
export { getTask, getTaskList } from "./tasks";
