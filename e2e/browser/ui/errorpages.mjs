// The pages that a browser gets for addresses that it may not have, with the same status as other
// clients.
import { bothLanguages, everyWith } from './forms.mjs'
import { becomes, equal, inspect } from './harness.mjs'
import { labels, signIn } from './labels.mjs'

async function looks(page, config) {
  const say = labels[config.language]
  const shows = async (path, status, heading) => {
    const answer = await page.goto(path)
    equal(`the status of ${path}`, answer.status(), status)
    await page.getByRole('heading', { level: 1, name: heading }).waitFor()
    equal(`faults of ${path}`, await inspect(page), [])
  }
  await shows('/public/none.jpg', 404, say.notFound)
  await config.shot('error-page-404')
  await shows('/home/private.txt', 401, say.unauthorized)
  await config.shot('error-page-401')
  const answer = await page.goto('/app/nothing')
  equal('the status of an address of the UI', answer.status(), 200)
  await page.getByRole('heading', { level: 1, name: say.notFound }).waitFor()
}

// A link to a file that the visitor may not see leads through the sign-in to the file.
async function leadsThrough(page, config) {
  const say = labels[config.language]
  await page.goto('/home/private.txt')
  await page.getByRole('link', { name: say.signIn }).click()
  await signIn(page, config)
  await page.waitForURL('**/home/private.txt')
  equal('what is shown', await page.evaluate(() => document.body.innerText), 'for the administrator alone')
}

async function unlocks(page, config) {
  const say = labels[config.language]
  equal('the status', (await page.goto('/public/locked.txt')).status(), 403)
  await page.getByRole('heading', { level: 1, name: say.locked }).waitFor()
  equal('faults of the page', await inspect(page), [])
  await config.shot('locked')
  const field = page.getByRole('main').locator('input[type=password]')
  await field.fill('wrong')
  await page.getByRole('button', { name: say.open }).click()
  const wrong = page.getByText(say.wrongPassword)
  await wrong.waitFor()
  equal(
    'the colour of what went wrong',
    await wrong.evaluate((words) => getComputedStyle(words).color),
    config.theme === 'light' ? 'rgb(201, 42, 42)' : 'rgb(255, 135, 135)',
  )
  await becomes(
    'whether the focus is on the password',
    () => field.evaluate((element) => element === document.activeElement),
    true,
  )
  await page.clock.install()
  await standStill(page)
  await refuses(page, '**/api/public/unlock')
  await page.getByRole('button', { name: say.open }).click()
  await page.getByText(say.tryLater(37)).waitFor()
  await page.clock.fastForward(38_000)
  await field.fill('open sesame')
  await page.getByRole('button', { name: say.open }).click()
  await page.waitForURL((url) => url.pathname !== '/public/locked.txt')
  equal('what is shown', await page.evaluate(() => document.body.innerText), 'behind a password')
}

// standStill stops the clock of the page, and with it each countdown. The scenario calls
// `page.clock.install()` before. axe does not run while the clock is stopped.
export const standStill = async (page) => page.clock.pauseAt(await page.evaluate(() => Date.now() + 1000))

// refuses answers the next request to an address like the limit of wrong passwords.
export const refuses = (page, address) =>
  page.route(
    address,
    (route) =>
      route.fulfill({
        status: 429,
        headers: { 'Retry-After': '37' },
        json: {
          success: false,
          error: { code: 'RATE_LIMIT_EXCEEDED', message: 'Too many failed attempts.' },
          timestamp: 0,
        },
      }),
    { times: 1 },
  )

// The form that asks for the password shows the limit of wrong passwords. Everything else goes on,
// and the page does not repeat the password.
async function tellsOfTheLimit(page, config) {
  const say = labels[config.language]
  await page.clock.install()
  await page.goto('/app/login?next=%2Fapp%2Ffiles%2Fpublic')
  await standStill(page)
  await refuses(page, '**/api/auth/login')
  await signIn(page, config)
  await page.getByText(say.tryLater(37)).waitFor()
  await page.clock.resume()
  await page.reload()
  await signIn(page, config)
  await page.getByRole('link', { name: /^locked\.txt/ }).dblclick()
  const asks = page.getByRole('dialog', { name: say.passwordNeeded })
  await asks.getByLabel(say.accessPassword, { exact: true }).fill('open sesame')
  let tries = 0
  page.on('request', (request) => (tries += request.url().endsWith('/verify-password')))
  await standStill(page)
  await refuses(page, '**/verify-password')
  await asks.getByRole('button', { name: say.open, exact: true }).click()
  await asks.getByText(say.tryLater(37)).waitFor()
  await page.clock.resume()
  equal('faults', await inspect(page), [])
  equal('how often the password was tried', tries, 1)
  await page.clock.fastForward(38_000)
  await asks.getByRole('button', { name: say.open, exact: true }).click()
  await page.getByText('behind a password').waitFor()
  equal('how often the password was tried in all', tries, 2)
}

export const scenarios = [
  { name: 'what cannot be shown looks right', forms: everyWith('wide'), run: looks },
  { name: 'leads through the sign-in to a file', forms: bothLanguages, run: leadsThrough },
  { name: 'unlocks a file', forms: bothLanguages, run: unlocks },
  { name: 'tells of the limit of wrong passwords', forms: bothLanguages, run: tellsOfTheLimit },
]
