// Interruptions: a session that ends while a form is open, a page that is loaded again, changes by
// other users, a lost network, a new version of the page, missing permissions, and fast key
// presses.
import { createFolder, enter } from './files.mjs'
import { bothLanguages, once } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels, signIn } from './labels.mjs'
import { api, idOf, stranger } from './stranger.mjs'

const texts = (...names) => names.map((name) => ({ name, bytes: btoa('a few words') }))

// openFolder creates and opens a folder of text files, and returns its path.
async function openFolder(page, config, folder, names) {
  await enter(page, config, '')
  const path = await createFolder(page, config, folder, texts(...names))
  await page.goto(`/app/files${path}`)
  await page.getByRole('gridcell').first().waitFor()
  return path
}

// remove deletes entries of a folder by the API, as another tab would.
async function remove(page, folder, ...names) {
  await page.evaluate(
    async ({ folder, names }) => {
      const { data } = await (await fetch('/api/auth/csrf-token')).json()
      const { items } = (await (await fetch(`/api/files?path=${encodeURIComponent(folder)}`)).json()).data
      for (const { id } of items.filter(({ name }) => names.includes(name)))
        await fetch(`/api/files/${id}`, { method: 'DELETE', headers: { 'X-CSRF-Token': data.token } })
    },
    { folder, names },
  )
}

// The first write from a page needs a token, and the session may have ended before it: the form
// waits for the sign-in and is submitted then.
async function formSurvives(page, config) {
  const say = labels[config.language]
  await openFolder(page, config, 'Forms', ['kept.txt'])
  await page.getByRole('gridcell', { name: /^kept\.txt|^A title/ }).click({ button: 'right' })
  await page.getByRole('menuitem', { name: say.appearance }).click()
  const form = page.getByRole('dialog', { name: say.appearanceTitle })
  await form.getByLabel(say.title, { exact: true }).fill('A title')
  await page.context().clearCookies()
  await form.getByRole('button', { name: say.save }).click()
  const lost = page.getByRole('dialog', { name: say.lost })
  await lost.waitFor()
  equal('faults of the two dialogs', await inspect(page), [])
  await signIn(page, config)
  await lost.waitFor({ state: 'detached' })
  await form.waitFor({ state: 'detached' })
  const undo = page.getByRole('button', { name: say.undo, exact: true })
  await undo.hover() // a message stays under the pointer
  await page.getByRole('gridcell', { name: /^A title/ }).waitFor()
  await undo.click()
  await page.getByRole('gridcell', { name: /^kept\.txt/ }).waitFor()
}

// Other users delete a file, and then the folder: a page that has not noticed it yet does so when
// it becomes visible again or when an action fails, and keeps the text that is being typed.
async function othersChange(page, config) {
  const say = labels[config.language]
  await page.route('**/api/files/revision?*', () => undefined) // without an answer
  const folder = await openFolder(page, config, 'Shared', ['a.txt', 'b.txt', 'c.txt', 'd.txt'])
  const look = () => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  await remove(page, folder, 'a.txt')
  await page.getByRole('link', { name: /^a\.txt/ }).dblclick()
  const viewer = page.getByRole('dialog')
  await viewer.getByText(say.gone).waitFor()
  await becomes(
    'ways to download what has gone',
    () => viewer.getByRole('button', { name: say.download }).filter({ hasText: say.download }).count(),
    0,
  )
  await page.keyboard.press('Escape')
  await look()
  await page.getByRole('gridcell', { name: /^a\.txt/ }).waitFor({ state: 'detached' })

  await page.getByRole('gridcell', { name: /^c\.txt/ }).click()
  await page.keyboard.press('F2')
  const field = page.getByRole('textbox', { name: say.newName })
  await field.fill('half a na')
  await remove(page, folder, 'b.txt')
  let asked = 0
  page.on('request', (request) => (asked += request.url().includes('/api/files?') ? 1 : 0))
  await look()
  await page.waitForTimeout(900) // longer than the delay of a refresh
  await becomes('what is being typed', () => field.inputValue(), 'half a na')
  equal('how often the folder was asked for', asked, 0)
  await field.press('Escape')
  await page.getByRole('gridcell', { name: /^b\.txt/ }).waitFor({ state: 'detached' })

  await remove(page, folder, 'd.txt')
  await page.getByRole('gridcell', { name: /^d\.txt/ }).click()
  await page.keyboard.press('Shift+Delete')
  await page
    .getByRole('dialog', { name: say.deleteTitle })
    .getByRole('button', { name: say.delete, exact: true })
    .click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('gridcell', { name: /^d\.txt/ }).waitFor({ state: 'detached' })

  await remove(page, folder, 'c.txt')
  await page.getByRole('gridcell', { name: /^c\.txt/ }).click()
  await page.keyboard.press('F2')
  await field.fill('another name.txt')
  await field.press('Enter')
  await page.getByText(say.emptyFolder).waitFor()
  await page.getByRole('region', { name: say.notices }).getByText(say.gone).waitFor()

  await remove(page, folder.slice(0, folder.lastIndexOf('/')), 'Shared')
  await page.getByRole('button', { name: say.newFolder }).click()
  await page.getByRole('textbox', { name: say.folderName }).press('Enter')
  await page.getByRole('heading', { name: say.noFolder }).waitFor()
}

// Two sessions change the same file. Undo in the first one keeps the name and the folder that the
// second one has set since. Without such a change, Undo works.
async function undoes(page, config) {
  const say = labels[config.language]
  const folder = await openFolder(page, config, `Undone ${config.language}`, ['plan.txt'])
  const other = await stranger(page, config)
  await enter(other, config, folder)
  const cell = (name) => page.getByRole('gridcell', { name })
  const undo = page.getByRole('button', { name: say.undo, exact: true })
  const rename = async (name, to) => {
    await cell(name).click()
    await page.keyboard.press('F2')
    await page.getByRole('textbox', { name: say.newName }).fill(to)
    await page.keyboard.press('Enter')
    await undo.hover() // the message stays while the pointer is on it
  }
  await rename(/^plan\.txt/, 'draft.txt')
  await undo.click()
  await cell(/^plan\.txt/).waitFor()

  await rename(/^plan\.txt/, 'agenda.txt')
  const id = await idOf(other, `${folder}/agenda.txt`)
  await api(other, 'PUT', `/api/files/${id}`, { name: 'minutes.txt' })
  await undo.click()
  await page.getByText(say.changedSince('agenda.txt')).waitFor()
  await cell(/^minutes\.txt/).waitFor()
  equal('faults of the message', await inspect(page), [])
  await config.shot('undo-refused')

  await createFolder(other, config, 'Inbox', [], folder)
  await createFolder(other, config, 'Done', [], folder)
  await cell(/^Inbox/).waitFor()
  await cell(/^minutes\.txt/).click()
  await page.keyboard.press('Control+x')
  await cell(/^Inbox/).dblclick()
  await page.getByText(say.emptyFolder).waitFor()
  await page.keyboard.press('Control+v')
  await cell(/^minutes\.txt/).waitFor()
  await undo.hover()
  await api(other, 'POST', '/api/files/batch', { action: 'move', fileIds: [id], targetPath: `${folder}/Done` })
  await undo.click()
  await page.getByText(say.movedSince).waitFor()
  equal('where the file is', (await api(other, 'GET', `/api/files/${id}`)).file.path, `${folder}/Done`)
  await other.context().close()
}

// Two people have the same folder open. Each sees what the other does, without a reload: a new
// folder, another name, a deletion, and the end of the folder itself.
async function sideBySide(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Together', texts('plan.txt'), '/public')
  await page.goto(`/app/files${folder}`)
  const lin = { ...config, language: 'zh-CN', username: config.users['zh-CN'] }
  const other = await stranger(page, lin)
  await enter(other, lin, folder)
  const cell = (on, name) => on.getByRole('gridcell', { name })
  for (const one of [page, other]) await cell(one, /^plan\.txt/).waitFor()

  await page.getByRole('button', { name: say.newFolder }).click()
  await page.getByRole('textbox', { name: say.folderName }).fill('Pictures')
  await page.getByRole('textbox', { name: say.folderName }).press('Enter')
  await cell(other, /^Pictures/).waitFor()

  await cell(other, /^plan\.txt/).click()
  await other.keyboard.press('F2')
  await other.getByRole('textbox', { name: labels['zh-CN'].newName }).fill('agenda.txt')
  await other.keyboard.press('Enter')
  await cell(page, /^agenda\.txt/).waitFor()
  await cell(page, /^plan\.txt/).waitFor({ state: 'detached' })

  await remove(page, folder, 'agenda.txt')
  await cell(other, /^agenda\.txt/).waitFor({ state: 'detached' })
  await remove(page, '/public', 'Together')
  await page.getByRole('heading', { name: say.noFolder }).waitFor()
  const missing = other.getByRole('heading', { name: labels['zh-CN'].noFolder })
  await missing.waitFor()
  const making = other.getByRole('button', { name: labels['zh-CN'].newFolder })
  await becomes('how many buttons make a folder in an absent one', () => making.count(), 0)
  await createFolder(page, config, 'Together', texts('new.txt'), '/public')
  await cell(other, /^new\.txt/).waitFor()
  await missing.waitFor({ state: 'detached' })
  await remove(page, '/public', 'Together')
  await other.context().close()
}

// A folder that could not load while offline loads when the network is back.
async function networkReturns(page, config) {
  const say = labels[config.language]
  const folder = await openFolder(page, config, 'Far', ['near.txt'])
  await page.context().setOffline(true)
  await page.getByText(say.offline).waitFor()
  await page.getByRole('link', { name: config.username, exact: true }).click()
  await page.getByRole('heading', { name: say.unreachable }).waitFor()
  await becomes('words about a report', () => page.getByText(say.report).count(), 0)
  await page.context().setOffline(false)
  await page.getByRole('link', { name: 'Far', exact: true }).dblclick()
  await page.getByRole('gridcell', { name: /^near\.txt/ }).waitFor()
  equal('the address', decodeURIComponent(new URL(page.url()).pathname), `/app/files${folder}`)
}

// After a failed connection with the network up, the page itself repeats the request.
async function serverReturns(page, config) {
  const say = labels[config.language]
  await openFolder(page, config, 'Restarted', ['near.txt'])
  await page.route('**/api/**', (route) => route.abort('connectionrefused'))
  await page.getByRole('link', { name: config.username, exact: true }).click()
  await page.getByRole('heading', { name: say.unreachable }).waitFor()
  await page.getByText(say.silent).waitFor()
  await becomes('whether the page is called offline', () => page.getByText(say.offline).count(), 0)
  await page.unroute('**/api/**')
  await page.getByRole('link', { name: 'Restarted', exact: true }).waitFor()
}

// If a late-loaded module is gone, as after an update, the page says so.
async function outdated(page, config) {
  const say = labels[config.language]
  await page.route('**/app/assets/DeleteDialog*', (route) => route.fulfill({ status: 404, body: '' }))
  await openFolder(page, config, 'Old', ['a.txt'])
  await page.getByRole('gridcell', { name: /^a\.txt/ }).click()
  await page.locator('[aria-selected=true]').waitFor()
  await page.keyboard.press('Shift+Delete')
  const told = page.getByRole('region', { name: say.notices })
  await told.getByText(say.stale).waitFor()
  page.faults() // drops the browser's own error
  await Promise.all([page.waitForEvent('load'), told.getByRole('button', { name: say.reload }).click()])
}

// Keys for actions without permission name the missing permission, and do nothing.
async function lacks(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Others', texts('theirs.txt'))
  await page.route('**/api/files?*', async (route) => {
    const answer = await route.fetch()
    const body = await answer.json()
    for (const item of body.data.items) item.permissions = ['read', 'download']
    await route.fulfill({ response: answer, json: body })
  })
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^theirs\.txt/ }).click()
  const told = page.getByRole('region', { name: say.notices })
  for (const [key, words] of [
    ['Delete', say.lacksDelete],
    ['F2', say.lacksUpdate],
    ['Control+x', say.lacksDelete],
  ]) {
    await page.keyboard.press(key)
    await told.getByText(words).waitFor()
    await told.getByRole('button', { name: say.close, exact: true }).click()
    await told.getByText(words).waitFor({ state: 'detached' })
  }
  await becomes('how many dialogs are open', () => page.getByRole('dialog').count(), 0)
}

// keepRunning makes all jobs look unfinished to the page, until the function that it returns is
// called.
export async function keepRunning(page) {
  let running = true
  await page.route('**/api/files/jobs/*', async (route) => {
    try {
      const response = await route.fetch()
      const answer = await response.json()
      if (running) Object.assign(answer.data.job, { status: 'processing', progress: 40, completedAt: null })
      await route.fulfill({ response, json: answer })
    } catch {
      // the page that asked is gone
    }
  })
  return () => (running = false)
}

// A copy goes on when the page is loaded again: its card is there again, and tells the end.
async function copyGoesOn(page, config) {
  const say = labels[config.language]
  const end = await keepRunning(page)
  const folder = await openFolder(page, config, 'Again', ['one.txt'])
  await page.getByRole('gridcell', { name: /^one\.txt/ }).click({ button: 'right' })
  await page.getByRole('menuitem', { name: say.copyTo }).click()
  const dialog = page.getByRole('dialog', { name: say.copyTitle })
  await dialog.getByRole('button', { name: say.copyHere }).click()
  await dialog.getByRole('progressbar').waitFor()
  await page.waitForFunction(() => sessionStorage.getItem('larder.jobs')) // the server has accepted the copy
  await page.reload()
  const notices = page.getByRole('region', { name: say.notices })
  await notices.getByText(say.copyingTo('Again')).waitFor()
  await page.reload() // and at each further time
  await notices.getByText(say.copyingTo('Again')).waitFor()
  end()
  await notices.getByText(say.copiedTo('Again')).waitFor()
  await becomes('cards', () => notices.getByText(say.copyingTo('Again')).count(), 0)
  await page.getByRole('link', { name: /^one \(1\)\.txt/ }).waitFor()
  equal('faults of the folder', await inspect(page), [])
  await page.reload()
  await page.getByRole('link', { name: /^one \(1\)\.txt/ }).waitFor()
  await idOf(page, `${folder}/one (1).txt`)
  equal('jobs that the tab remembers', await page.evaluate(() => sessionStorage.getItem('larder.jobs')), null)
}

// Lists that are open in a hidden tab show what another device has changed when the tab is seen
// again.
async function listsAgain(page, config) {
  const folder = await openFolder(page, config, 'Lists', ['deleted.txt', 'shared.txt'])
  const seen = () => page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
  const row = (text) => page.getByRole('row').filter({ hasText: text })
  await api(page, 'DELETE', `/api/files/${await idOf(page, `${folder}/deleted.txt`)}?trash=true`)
  await page.goto('/app/trash')
  await row('deleted.txt').waitFor()
  const { items } = await api(page, 'GET', '/api/trash')
  await api(page, 'DELETE', `/api/trash/${items.find(({ name }) => name === 'deleted.txt').id}`)
  await seen()
  await row('deleted.txt').waitFor({ state: 'detached' })

  await page.goto('/app/shares')
  await page.getByRole('main').getByRole('heading', { level: 1 }).waitFor()
  await becomes('lists that are loading', () => page.locator('[aria-busy="true"]').count(), 0)
  await api(page, 'POST', '/api/shares/', { fileId: await idOf(page, `${folder}/shared.txt`), title: 'by the phone' })
  await seen()
  await row('by the phone').waitFor()

  await page.goto('/app/admin/users')
  await row(config.username).first().waitFor()
  const user = { username: 'newcomer', email: 'newcomer@example.com', password: 'a long password', role: 'user' }
  await api(page, 'POST', '/api/admin/users', user)
  await seen()
  await row('newcomer').waitFor()

  const tell = (title) => api(page, 'POST', '/api/admin/announcements', { title, content: 'Few words.', level: 'info' })
  const told = [await tell('News of the desk')]
  await page.goto('/app/admin/announcements')
  await row('News of the desk').waitFor()
  told.push(await tell('News of the phone'))
  await seen()
  await row('News of the phone').waitFor()
  for (const { announcement } of told) await api(page, 'DELETE', `/api/admin/announcements/${announcement.id}`)

  const give = (name) => api(page, 'POST', '/api/keys/', { name, permissions: ['read'], protocols: ['api'] })
  const key = (name) => page.getByRole('main').getByRole('listitem').filter({ hasText: name })
  await give('For the desk')
  await page.goto('/app/keys')
  await key('For the desk').waitFor()
  await give('For the phone')
  await seen()
  await key('For the phone').waitFor()
}

// Each key press that moves an entry counts, even in fast succession; a double click on a button is
// one click.
async function quickly(page, config) {
  const say = labels[config.language]
  await openFolder(page, config, 'Quick', ['1.txt', '2.txt', '3.txt', '4.txt', '5.txt'])
  await page.getByRole('button', { name: say.newFolder }).dblclick()
  const field = page.getByRole('textbox', { name: say.folderName })
  await becomes(
    'whether the field has the focus',
    () => field.evaluate((element) => element === document.activeElement),
    true,
  )
  await field.press('Escape')
  await page.getByRole('button', { name: say.display }).click()
  await page.getByRole('menuitemradio', { name: say.byHand }).click()
  await page.getByRole('gridcell', { name: /^1\.txt/ }).click()
  for (let n = 0; n < 3; n++) await page.keyboard.press('Alt+ArrowDown')
  const names = () =>
    page.getByRole('gridcell').evaluateAll((all) => all.map((cell) => cell.querySelector('a').textContent).join(' '))
  await until('the order 2 3 4 1 5', async () => (await names()) === '2.txt 3.txt 4.txt 1.txt 5.txt', 10_000)
}

// A message of success disappears after 6 s, also if another one has appeared meanwhile, but not
// while the pointer is on the messages.
async function disappears(page, config) {
  const say = labels[config.language]
  await openFolder(page, config, 'Told', ['a.txt', 'b.txt'])
  const toasts = page.getByRole('region', { name: say.notices }).getByRole('listitem')
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 60_000)
  await page.getByRole('gridcell', { name: /^a\.txt/ }).click()
  await page.keyboard.press('Control+x')
  await toasts.waitFor()
  await page.clock.runFor(4_000)
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+x')
  await toasts.nth(1).waitFor()
  await page.clock.runFor(3_000)
  equal('how many messages are left', await toasts.count(), 1)
  await toasts.hover()
  await page.clock.runFor(60_000)
  equal('how many messages are below the pointer', await toasts.count(), 1)
  await page.mouse.move(0, 0)
  await page.clock.runFor(6_000)
  await toasts.waitFor({ state: 'detached' })
}

// A file that is dropped outside of the drop zone does not make the browser leave the page.
async function drops(page) {
  const stays = () =>
    page.evaluate(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File(['words'], 'a.txt'))
      return ['dragover', 'drop'].map(
        (type) =>
          !document
            .querySelector('main')
            .dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer })),
      )
    })
  await page.goto('/public/')
  await page.getByRole('link', { name: 'locked.txt' }).waitFor()
  equal('whether a visitor stays', await stays(), [true, true])
}

export const scenarios = [
  { name: 'removes messages of success after 6 s', forms: once, run: disappears },
  { name: 'stays when something is dropped', forms: once, run: drops },
  { name: 'keeps a form while the session is renewed', forms: bothLanguages, run: formSurvives },
  { name: 'a copy goes on when the page is loaded again', forms: bothLanguages, run: copyGoesOn },
  { name: 'lists show what other devices have changed', forms: once, run: listsAgain },
  { name: 'notices what others change', forms: once, run: othersChange },
  { name: 'shows what another person does', forms: once, run: sideBySide },
  { name: 'undoes nothing that another session has changed', forms: bothLanguages, run: undoes },
  { name: 'shows a folder when the network is back', forms: once, run: networkReturns },
  { name: 'shows a folder when the server is back', forms: once, run: serverReturns },
  { name: 'says that a page is out of date', forms: once, run: outdated },
  { name: 'says which permission is missing', forms: bothLanguages, run: lacks },
  { name: 'counts every quick press', forms: once, run: quickly },
]
