// Runs scenarios of the web UI against a running service.
//
//     node ui/main.mjs
//
// Reads a line of JSON:
//     base: address of the service
//     users: account by language
//     password: password of all accounts
//     only: parts of scenarios' names, separated by |; or ""
//     full: whether screens are inspected in all forms
//     shots: directory for pictures, or ""
//     still: whether pictures leave out parts that differ in each run
//     opens: folder for a first visit, if the account has none
//     suite: the scenarios to run: files (the file manager), administration, accounts (all other
//         screens), kit, firstrun (the first steps of a new site), whole (the whole application on
//         a new site), history (versions, the trash and earlier times as one story)
//     lan: in a full run, address of a second service
// Prints a line of JSON for each scenario: {"name", "ms", "error": text or ""}; for each
// measurement: {"figure", "figures"}; and for a request to the Go test: {"ask", "with"}, which the
// test answers by a line. A scenario runs in each of its forms (language, theme, size), in its own
// profile.
import { createInterface } from 'node:readline'
import { launch, open, picture, say } from './harness.mjs'
import * as accounts from './accounts.mjs'
import * as admin from './admin.mjs'
import * as adminEvacuate from './admin-evacuate.mjs'
import * as adminFiles from './admin-files.mjs'
import * as adminLogs from './admin-logs.mjs'
import * as adminRules from './admin-rules.mjs'
import * as adminSite from './admin-site.mjs'
import * as adminStorage from './admin-storage.mjs'
import * as adminSystem from './admin-system.mjs'
import * as adminUsers from './admin-users.mjs'
import * as app from './app.mjs'
import * as arrivals from './arrivals.mjs'
import * as commands from './commands.mjs'
import * as conflicts from './conflicts.mjs'
import * as copying from './copying.mjs'
import * as errorcodes from './errorcodes.mjs'
import * as errorpages from './errorpages.mjs'
import * as favourites from './favourites.mjs'
import * as files from './files.mjs'
import * as filters from './filters.mjs'
import * as firstrun from './firstrun.mjs'
import * as free from './free.mjs'
import * as guests from './guests.mjs'
import * as history from './history.mjs'
import * as interruptions from './interruptions.mjs'
import * as journey from './journey.mjs'
import * as keyboard from './keyboard.mjs'
import * as keys from './keys.mjs'
import * as kit from './kit.mjs'
import * as layout from './layout.mjs'
import * as long from './long.mjs'
import * as notifications from './notifications.mjs'
import * as ownfiles from './ownfiles.mjs'
import * as panels from './panels.mjs'
import * as past from './past.mjs'
import * as phone from './phone.mjs'
import * as manyphotos from './manyphotos.mjs'
import * as photos from './photos.mjs'
import * as places from './places.mjs'
import * as register from './register.mjs'
import * as screens from './screens.mjs'
import * as settings from './settings.mjs'
import * as share from './share.mjs'
import * as sharechanges from './sharechanges.mjs'
import * as sharefiles from './sharefiles.mjs'
import * as sharelocks from './sharelocks.mjs'
import * as shares from './shares.mjs'
import * as sheets from './sheets.mjs'
import * as shown from './shown.mjs'
import * as signin from './signin.mjs'
import * as stores from './stores.mjs'
import * as tasks from './tasks.mjs'
import * as thumbs from './thumbs.mjs'
import * as trash from './trash.mjs'
import * as uploadfaults from './uploadfaults.mjs'
import * as versions from './versions.mjs'
import * as viewer from './viewer.mjs'
import * as whole from './whole.mjs'
import * as widths from './widths.mjs'

const input = createInterface({ input: process.stdin })
const lines = input[Symbol.asyncIterator]()
const hear = async () => JSON.parse((await lines.next()).value)
const config = await hear()
const ask = (what, details = {}) => {
  say({ ask: what, with: details })
  return hear()
}
const browser = await launch('--host-resolver-rules=MAP *.test 127.0.0.1')
const suites = {
  files: [
    journey, // first, since it expects an account without files
    signin,
    errorcodes,
    errorpages,
    files,
    commands,
    interruptions,
    shown,
    thumbs,
    keyboard,
    panels,
    phone,
    sheets,
    layout,
    widths,
    ...(config.full ? [long, uploadfaults, stores] : []),
  ],
  collections: [
    favourites,
    filters,
    photos,
    manyphotos,
    viewer,
    conflicts,
    screens,
    places,
    ownfiles,
    copying,
    arrivals,
    app,
  ],
  accounts: [
    register,
    accounts,
    share,
    sharechanges,
    sharefiles,
    sharelocks,
    shares,
    guests,
    trash,
    versions,
    past,
    free,
    keys,
    settings,
    notifications,
  ],
  administration: [
    admin,
    adminUsers,
    adminStorage,
    adminRules,
    adminFiles,
    adminSite,
    adminLogs,
    adminSystem,
    adminEvacuate,
  ],
  kit: [kit],
  firstrun: [firstrun],
  whole: [whole],
  history: [history],
  tasks: [tasks],
}
const scenarios = suites[config.suite].flatMap((part) => part.scenarios)
for (const { name, forms, run, lan, worker } of scenarios) {
  for (const form of forms(config.full)) {
    const whole = `${name}/${Object.values(form).join('-')}`
    if (!config.only.split('|').some((part) => whole.includes(part))) continue
    const began = Date.now()
    const base = lan ? config.lan : config.base
    // A service worker hides requests from `page.route`.
    const page = await open(browser, { base, ...form, serviceWorkers: worker ? 'allow' : 'block' })
    let error = ''
    try {
      await run(page, {
        ...config,
        ...form,
        base,
        ask,
        username: config.users?.[form.language],
        figure: (what, figures) => say({ figure: what, figures }),
        shot: (what, shown = page) =>
          config.shots && picture(shown, `${config.shots}/${what}-${Object.values(form).join('-')}.png`, config.still),
      })
      error = page.faults().join('\n')
    } catch (cause) {
      const shown = await page
        .locator('body')
        .innerText({ timeout: 2000 })
        .catch(() => '')
      error = [cause.stack, `${page.url()} shows: ${shown.slice(0, 1500)}`, ...page.faults()].join('\n')
      // the page may be unable to render
      if (config.shots)
        await page
          .screenshot({ path: `${config.shots}/failed-${whole.replaceAll('/', '-')}.png` })
          .catch(() => undefined)
    }
    // the end of the scenario interrupts requests that its routes are still answering
    const context = page.context()
    const routed = [context, ...context.pages()]
    await Promise.all(routed.map((each) => each.unrouteAll({ behavior: 'ignoreErrors' }))).catch(() => undefined)
    await context.close()
    say({ name: whole, ms: Date.now() - began, error })
  }
}
await browser.close()
input.close()
