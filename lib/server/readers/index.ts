export { getBoard } from "./board";
export { listPublished } from "./published";
export { getAttempt, getSubmission } from "./submissions";
export { listSuites, type SuiteListItem } from "./suites";
export { getTask, getTaskList } from "./tasks";
