import { InfraDevError } from "@/lib/contract/errors";
import { TransientError } from "../attach/retry";

/** Whether a request failed since fetch refuses the server's port, whatever listens there. */
export const isRefusedPort = (error: unknown): boolean =>
  error instanceof Error && (error.message === "bad port" || isRefusedPort(error.cause));

/** For `catch`: throws a request's error on, with the server that was asked; a port that fetch refuses is not tried again. */
export const atServer =
  (server: URL) =>
  (error: unknown): never => {
    if (isRefusedPort(error)) {
      throw new InfraDevError(
        "invalid",
        {
          code: "usage.server-port",
          message: `port ${server.port} is never asked`,
          where: server.href,
          rule: "fetch refuses the ports of other services (1, 7, 9, 22, 25, 6000, ...), whatever listens there",
          remedy: "give the port that the server listens on; let it listen on another one if it is this",
        },
        { cause: error },
      );
    }
    if (error instanceof TransientError) error.problem.where ??= server.href;
    throw error;
  };
