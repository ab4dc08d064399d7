// The browser of the tests: the headless shell of Chromium where it is installed. It has the same
// engine and needs half the time, since it draws no windows. CHROMIUM names another one.
import { existsSync } from 'node:fs'

const installed = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

export const executablePath = process.env.CHROMIUM || installed.find((path) => existsSync(path))
