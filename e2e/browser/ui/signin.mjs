// Signing in: wrong and right passwords, the redirect afterwards, and a session that ends while the
// page is open.
import { bothLanguages, everyWith, few, once } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels, signIn } from './labels.mjs'

// nav is the navigation of a signed-in user.
const nav = (page, config) => page.getByRole('navigation', { name: labels[config.language].nav, exact: true })

async function looks(page, config) {
  const say = labels[config.language]
  await page.goto('/')
  await page.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
  equal('the address', new URL(page.url()).pathname, '/app/login')
  equal('the language of the page', await page.evaluate(() => document.documentElement.lang), config.language)
  equal('the theme of the page', await page.evaluate(() => document.documentElement.dataset.theme), config.theme)
  equal('faults of the page', await inspect(page), [])
  await config.shot('sign-in')
}

async function signsIn(page, config) {
  const say = labels[config.language]
  await page.goto('/')
  await signIn(page, { ...config, password: 'not this one' })
  await page.getByText(say.wrong).waitFor()
  equal('faults after a wrong password', await inspect(page), [])
  await config.shot('sign-in-wrong')
  await signIn(page, config)
  await nav(page, config).waitFor()
  // the account's own folder
  equal('the address', new URL(page.url()).pathname, `/app/files/home/${config.username}`)
  await page.getByRole('button', { name: say.account }).click()
  await page.getByRole('menuitem', { name: say.signOut }).click()
  await page.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
}

const provider = 'https://challenges.cloudflare.com/**'

// askForCheck makes the site ask for a bot check, with the script `body` in place of that of the
// provider, which cannot be loaded without it.
async function askForCheck(page, body) {
  await page.route('**/app/login', async (route) => {
    const answer = await route.fetch()
    const { 'content-security-policy': _, ...headers } = answer.headers() // it names no provider here
    await route.fulfill({ response: answer, headers })
  })
  await page.route('**/api/public/features', async (route) => {
    const answer = await route.fetch()
    const features = await answer.json()
    Object.assign(features.data, { enableCaptcha: true, captchaProvider: 'turnstile', captchaSiteKey: 'key' })
    await route.fulfill({ response: answer, json: features })
  })
  await page.route(provider, (route) =>
    body ? route.fulfill({ contentType: 'text/javascript', body }) : route.abort(),
  )
}

// The bot check cannot be loaded: the page says so, and loads it again on demand.
async function checkFails(page, config) {
  await askForCheck(page, '')
  await page.goto('/app/login')
  await page.getByText('The security check could not be loaded.').waitFor()
  const faults = await inspect(page)
  equal('faults other than the refused script', faults.filter((fault) => !/ERR_FAILED/.test(fault)), [])
  await config.shot('sign-in-no-check')
  await page.unroute(provider)
  await page.route(provider, (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: "window.turnstile = { render: (at) => (at.textContent = 'Are you human?'), reset: () => {} }",
    }),
  )
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('group', { name: 'Security check' }).getByText('Are you human?').waitFor()
  equal('the sentence', await page.getByText('The security check could not be loaded.').count(), 0)
}

// The sign-in sends the token of the bot check. A token is valid for one attempt: each further one
// sends another.
async function checkPasses(page, config) {
  const say = labels[config.language]
  await askForCheck(
    page,
    `let given = 0
    window.turnstile = {
      render(at, { sitekey, callback, ...more }) {
        window.checked = { sitekey, ...more }
        this.reset = (id) => {
          at.textContent = \`\${id}: passed\`
          callback(\`token \${++given}\`)
        }
        this.reset('check')
        return 'again'
      },
    }`,
  )
  const sent = []
  page.on('request', (request) => {
    if (request.url().endsWith('/api/auth/login')) sent.push(request.postDataJSON().captchaToken)
  })
  await page.goto('/app/login')
  const check = page.getByRole('group', { name: 'Security check' })
  await check.getByText('check: passed').waitFor()
  equal('the key of the site', await page.evaluate(() => window.checked.sitekey), 'key')
  await signIn(page, { ...config, password: 'not this one' })
  await page.getByText(say.wrong).waitFor()
  await check.getByText('again: passed').waitFor()
  await signIn(page, config)
  await nav(page, config).waitFor()
  equal('the tokens', sent, ['token 1', 'token 2'])
}

// The page waits for a service that is not ready yet.
async function starts(page, config) {
  const say = labels[config.language]
  // The page fakes the response itself: a 503 from the service counts as a fault.
  await page.addInitScript(
    (body) => {
      const fetched = window.fetch
      window.fetch = (...given) =>
        window.ready || !String(given[0].url ?? given[0]).endsWith('/api/public/settings')
          ? fetched(...given)
          : Promise.resolve(new Response(body, { status: 503 }))
    },
    JSON.stringify({ success: false, error: { code: 'SERVICE_UNAVAILABLE', message: '' }, timestamp: 0 }),
  )
  await page.goto('/')
  await page.getByText(say.starting).waitFor()
  equal('faults of the page', await inspect(page), [])
  await config.shot('starting')
  await page.evaluate(() => (window.ready = true))
  await page.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
}

// By the keyboard alone: the focus begins in the first field, and an element always has the focus.
async function byKeyboard(page, config) {
  await page.goto('/app/login?next=%2Fapp%2Ffiles%2Fpublic')
  await page.getByLabel(labels[config.language].username, { exact: true }).waitFor()
  await page.keyboard.type(config.username)
  await page.keyboard.press('Tab')
  await page.keyboard.type(config.password)
  equal('the focus', await page.evaluate(() => document.activeElement.id), 'password')
  await page.keyboard.press('Enter')
  await nav(page, config).waitFor()
  equal('the address', new URL(page.url()).pathname, '/app/files/public')
}

// Abuse case C76: for any value of `next`, the user stays on this site.
const foreign = [
  '//evil.test',
  '//evil.test/app/files',
  '/\\evil.test',
  '\\\\evil.test',
  '/\t/evil.test',
  '/\n/evil.test',
  'https://evil.test/app',
  'https:evil.test',
  'javascript:alert(1)',
  'data:text/html,x',
  '//evil.test/..',
  '/%09/evil.test',
  'evil.test',
  '///evil.test',
  '/.//evil.test',
  'http:\\\\evil.test',
]

async function stays(page, config) {
  const { origin } = new URL(config.base)
  for (const next of foreign) {
    await page.context().clearCookies()
    await page.goto(`/app/login?next=${encodeURIComponent(next)}`)
    await signIn(page, config)
    await until(`leaving the sign-in for ${next}`, () => !page.url().includes('/app/login'))
    await page.waitForLoadState()
    equal(`where ${JSON.stringify(next)} leads`, new URL(page.url()).origin, origin)
  }
}

// The session ends elsewhere: the page asks the user to sign in again, and goes on where it was.
async function lost(page, config) {
  const say = labels[config.language]
  await page.goto('/app/login')
  await signIn(page, config)
  const home = page.getByRole(
    'link',
    config.size === 'desk' ? { name: say.homes, exact: true } : { name: say.up(say.homes) },
  )
  await home.waitFor()
  await page.context().clearCookies()
  await home.click()
  const dialog = page.getByRole('dialog', { name: say.lost })
  await dialog.waitFor()
  equal('faults of the dialog', await inspect(page), [])
  await config.shot('session-lost')
  await signIn(page, config)
  await dialog.waitFor({ state: 'detached' })
  equal('the address', new URL(page.url()).pathname, '/app/files/home')
}

// If the user signed in by an unverified address, the form contains that address already.
async function unverified(page, config) {
  const say = labels[config.language]
  const refusal = { success: false, error: { code: 'EMAIL_NOT_VERIFIED', message: 'No.' }, timestamp: 1 }
  await page.route('**/api/auth/login', (route) => route.fulfill({ status: 403, json: refusal }))
  await page.goto('/app/login')
  await signIn(page, { ...config, username: 'new@example.org' })
  await becomes('the address', () => page.getByLabel(say.email).inputValue(), 'new@example.org')
  equal('faults of the page', await inspect(page), [])
}

// Language and theme can be chosen before the sign-in, and stay for the next visit.
async function chooses(page, config) {
  const say = labels['en-US']
  await page.goto('/app/login')
  await page.getByRole('button', { name: say.theme }).click()
  await page.getByRole('menuitemradio', { name: say.dark }).click()
  equal('the theme', await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  await page.getByRole('button', { name: say.language }).click()
  await page.getByRole('menuitemradio', { name: '简体中文' }).click()
  await page.getByRole('heading', { level: 1, name: labels['zh-CN'].signIn }).waitFor()
  await page.reload()
  await page.getByRole('heading', { level: 1, name: labels['zh-CN'].signIn }).waitFor()
  equal('the theme after a reload', await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
}

// A language that was chosen a moment before a reload stays: also while the account does not have
// it, and when the request that stores it was lost.
async function staysChosen(page, config) {
  const account = labels['en-US'].account
  const choose = async (from, language) => {
    await page.getByRole('button', { name: from }).click()
    await page.getByRole('menuitemradio', { name: language }).click()
  }
  const stored = async () =>
    (await (await page.request.get('/api/users/me/settings')).json()).data.profile.locale
  await page.goto('/app/login')
  await signIn(page, config)
  await page.getByRole('button', { name: account }).waitFor()
  let lost = 0
  await page.route('**/api/users/me/settings', (route) => {
    if (route.request().method() !== 'PUT') return route.fallback()
    lost++
    return route.abort()
  })
  await choose(account, '简体中文')
  await page.getByRole('button', { name: labels['zh-CN'].account }).waitFor()
  await becomes('lost requests', () => lost, 1)
  equal('the language of the account', await stored(), 'en-US')
  await page.reload()
  await page.getByRole('button', { name: labels['zh-CN'].account }).waitFor()
  await becomes('requests that were lost after the reload', () => lost, 2)
  await page.unroute('**/api/users/me/settings')
  await page.reload()
  await page.getByRole('button', { name: labels['zh-CN'].account }).waitFor()
  await becomes('the language of the account', stored, 'zh-CN')
  await choose(labels['zh-CN'].account, 'English') // restores it
  await becomes('the language of the account', stored, 'en-US')
}

export const scenarios = [
  { name: 'the sign-in looks right', forms: everyWith('narrow', 'wide'), run: looks },
  { name: 'signs in and out', forms: bothLanguages, run: signsIn },
  { name: 'waits for the service', forms: once, run: starts },
  { name: 'loads the bot check again', forms: once, run: checkFails },
  { name: 'sends the token of the bot check', forms: once, run: checkPasses },
  { name: 'signs in by the keyboard', forms: once, run: byKeyboard },
  { name: 'stays on this site', forms: once, run: stays },
  { name: 'goes on after a lost session', forms: few, run: lost },
  { name: 'knows the address to verify', forms: once, run: unverified },
  { name: 'chooses language and theme', forms: once, run: chooses },
  { name: 'keeps a chosen language over a reload', forms: once, run: staysChosen },
]
