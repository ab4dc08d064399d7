/** The failure of a request whose question for a password was closed without an answer. */
import { Failure } from "./api";

export class Unanswered extends Failure {
  constructor() {
    super("PASSWORD_REQUIRED", "");
  }
}
