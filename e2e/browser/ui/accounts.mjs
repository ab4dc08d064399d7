// Two tabs of one browser share a session cookie: one of them signs in with another account.
import { enter } from './files.mjs'
import { bothLanguages, once } from './forms.mjs'
import { equal, inspect, until } from './harness.mjs'
import { labels, signIn } from './labels.mjs'

// another returns an account other than that of the scenario.
const another = (config) => Object.values(config.users).find((name) => name !== config.username)

// signOut signs out in a tab whose page is in a language.
async function signOut(tab, language) {
  const say = labels[language]
  await tab.getByRole('button', { name: say.account }).click()
  await tab.getByRole('menuitem', { name: say.signOut }).click()
  await tab.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
}

// changeAccount signs out in a new tab, and signs in as the other account. It returns the tab.
async function changeAccount(page, config) {
  const tab = await page.context().newPage()
  await tab.goto('/')
  await signOut(tab, config.language)
  await signIn(tab, { ...config, username: another(config) })
  await tab.waitForURL((url) => url.pathname === `/app/files/home/${another(config)}`)
  return tab
}

// watchWrites collects the statuses of the page's writes from now on.
function watchWrites(page) {
  const statuses = []
  page.on('response', (response) => {
    if (!['GET', 'HEAD'].includes(response.request().method())) statuses.push(response.status())
  })
  return statuses
}

// The first tab says so by itself. An upload that waits does not run for the other account, and the
// user continues as that account.
async function told(page, config) {
  const say = labels[config.language]
  await enter(page, config, `/home/${config.username}`)
  await page.getByRole('button', { name: say.newFolder }).waitFor()
  let release
  const released = new Promise((resolve) => (release = resolve))
  await page.route('**/api/files/upload-session', async (route) => {
    await released
    await route.continue()
  })
  const held = page.waitForRequest('**/api/files/upload-session')
  const chooser = page.waitForEvent('filechooser')
  await page.keyboard.press('Alt+u')
  const files = [0, 1, 2, 3, 4, 5].map((n) => ({
    name: `held ${n}.txt`,
    mimeType: 'text/plain',
    buffer: Buffer.from(`${n}`),
  }))
  await (await chooser).setFiles(files)
  await held
  const statuses = watchWrites(page)
  const tab = await changeAccount(page, config)
  const notice = page.getByRole('dialog', { name: say.changed(another(config)) })
  await notice.waitFor()
  equal('faults of the notice', await inspect(page), [])
  await config.shot('account-changed')
  release()
  await until('an answer to the upload', () => statuses.length > 0)
  equal('answers to the upload', [...new Set(statuses)], [409])
  await page.keyboard.press('Escape')
  await notice.getByRole('button', { name: say.continueAs(another(config)) }).click()
  await page.waitForURL((url) => url.pathname === `/app/files/home/${another(config)}`)
  const [language] = Object.entries(config.users).find(([, name]) => name === another(config))
  await page.getByRole('button', { name: labels[language].newFolder }).waitFor()
  const found = await tab.evaluate(
    async () => (await (await fetch('/api/files?path=/&search=held')).json()).data.items.length,
  )
  equal('files of the upload that the other account has', found, 0)
  equal('writes of the page', [...new Set(statuses)], [409])
}

// Where tabs cannot tell each other, the next request does nothing, and the page says why.
const refused = (missing) =>
  async function (page, config) {
    const say = labels[config.language]
    await page.context().addInitScript((missing) => {
      if (missing.includes('channel')) delete window.BroadcastChannel
      if (missing.includes('storage')) addEventListener('storage', (event) => event.stopImmediatePropagation(), true)
    }, missing)
    await enter(page, config, '')
    await page.getByRole('button', { name: say.newFolder }).waitFor()
    // The requests that the page makes by itself would tell it that the account has changed, or
    // that nobody is signed in. The last one at the start fills the tree of folders; later ones ask
    // for changes of the folder.
    await page.getByRole('treeitem').first().waitFor()
    if (missing.includes('storage')) await page.route('**/api/files/revision?*', (route) => route.abort())
    await changeAccount(page, config)
    const notice = page.getByRole('dialog', { name: say.changed(another(config)) })
    if (missing.includes('storage')) {
      const statuses = watchWrites(page)
      await page.getByRole('button', { name: say.newFolder }).click()
      const field = page.getByRole('textbox', { name: say.folderName })
      await field.fill('of the wrong account')
      await field.press('Enter')
      await notice.waitFor()
      equal(
        'writes that were not refused',
        statuses.filter((status) => status !== 409),
        [],
      )
    }
    await notice.waitFor()
    await notice.getByRole('button', { name: say.continueAs(another(config)) }).click()
    await page.waitForURL((url) => url.pathname === `/app/files/home/${another(config)}`)
  }

// The same account, signed in again in another tab: the first goes on without a question. After
// another account, its notice goes.
async function same(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  await page.getByRole('button', { name: say.newFolder }).waitFor()
  const tab = await page.context().newPage()
  await tab.goto('/')
  await signOut(tab, config.language)
  const lost = page.getByRole('dialog', { name: say.lost })
  await lost.waitFor()
  await signIn(tab, config)
  await lost.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: say.newFolder }).click()
  const field = page.getByRole('textbox', { name: say.folderName })
  await field.fill('made after the sign-in')
  await field.press('Enter')
  await page.getByRole('gridcell', { name: /^made after the sign-in/ }).waitFor()

  const second = await changeAccount(page, config)
  const notice = page.getByRole('dialog', { name: say.changed(another(config)) })
  await notice.waitFor()
  const [language] = Object.entries(config.users).find(([, name]) => name === another(config))
  await signOut(second, language)
  await notice.waitFor({ state: 'detached' }) // nobody is signed in
  await signIn(second, { ...config, language })
  await page.getByRole('button', { name: say.newFolder }).click()
  await field.waitFor()
}

export const scenarios = [
  { name: 'says that another tab has changed the account', forms: bothLanguages, run: told },
  { name: 'says that without a channel between tabs', forms: once, run: refused(['channel']) },
  { name: 'does nothing for another account', forms: once, run: refused(['channel', 'storage']) },
  { name: 'goes on after a sign-in in another tab', forms: once, run: same },
]
