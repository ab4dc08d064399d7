// The file browser, the viewer and the panels, and stored files that try to execute code.
import { bothLanguages, everyWith, inChinese, once } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels, signInAt } from './labels.mjs'
import { png } from './pictures.mjs'

// enter signs in and opens a folder; "" for the opening folder of the account.
export async function enter(page, config, path) {
  await signInAt(page, config, `/app/files${path}`)
}

// createFolder creates a folder with files by the API, in the session of the page, and returns its
// path.
export async function createFolder(page, config, folder, names, parent = `/home/${config.username}`) {
  await page.evaluate(
    async ({ parent, folder, names }) => {
      let answer
      while ((answer = await fetch('/api/auth/csrf-token')).status === 429) // many sign-ins in a full run
        await new Promise((resolve) => setTimeout(resolve, 1000 * answer.headers.get('Retry-After')))
      const { data } = await answer.json()
      const headers = { 'X-CSRF-Token': data.token, 'Content-Type': 'application/json' }
      await fetch('/api/files/folder', {
        method: 'POST',
        headers,
        body: JSON.stringify({ path: parent, name: folder }),
      })
      for (const { name, bytes } of names) {
        const body = Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))
        const session = { path: `${parent}/${folder}`, fileName: name, fileSize: body.length, conflict: 'replace' }
        const made = (
          await (
            await fetch('/api/files/upload-session', { method: 'POST', headers, body: JSON.stringify(session) })
          ).json()
        ).data
        const sent = await (
          await fetch(`/api/files/upload/raw/${made.sessionId}`, {
            method: 'PUT',
            headers: { 'X-CSRF-Token': data.token },
            body,
          })
        ).json()
        await fetch('/api/files/upload-complete', {
          method: 'POST',
          headers,
          body: JSON.stringify({ sessionId: made.sessionId, etag: sent.data.etag }),
        })
      }
    },
    { parent, folder, names },
  )
  return `${parent}/${folder}`
}

const pictures = Array.from({ length: 12 }, (_, n) => ({
  name: `lake ${n + 1}.png`,
  bytes: png(480, 320, n / 12).toString('base64'),
}))
const papers = ['notes.txt', '报告.pdf', 'main.go', 'song.mp3'].map((name) => ({ name, bytes: btoa('a few words') }))

async function looks(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const expectNoFaults = async (what) => {
    equal(`faults of ${what}`, await inspect(page), [])
    await config.shot(`files-${what}`)
  }
  const folder = await createFolder(page, config, 'Lakes', [...pictures, ...papers])
  await page.goto(`/app/files${folder}`)
  await page.getByRole('link', { name: /^lake 1\.png/ }).waitFor()
  await page.waitForFunction(
    () => [...document.images].filter((image) => image.complete && image.naturalWidth > 0).length >= 4,
  )
  await expectNoFaults('grid')
  await page.getByRole('button', { name: say.display }).click()
  await page.getByRole('menuitemradio', { name: say.list, exact: true }).click()
  await expectNoFaults('list')
  const search = page.getByRole('main').getByRole('button', { name: say.search, exact: true })
  if (await search.isVisible()) await search.click() // a narrow toolbar has a button for the field
  await page.getByRole('searchbox').fill('lake 1')
  await page.getByRole('link', { name: /^lake 5\.png/ }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /lake 12\.png/ }).waitFor()
  await expectNoFaults('search')
  await page.goto(`/app/files${folder}/nothing`)
  await page.getByRole('heading', { name: say.noFolder }).waitFor()
  await expectNoFaults('gone')
}

const place = ({ language }, at, total) => (language === 'zh-CN' ? `${at} / ${total}` : `${at} of ${total}`)

// The viewer stays with its picture when another file arrives above it. The filmstrip leads to
// other files, and files are renamed, deleted and restored in the viewer.
async function changesViewed(page, config, viewer) {
  const say = labels[config.language]
  const at = (nth, total) => viewer.getByText(place(config, nth, total), { exact: true }).waitFor()
  const shows = (name) => viewer.getByRole('heading', { name, level: 2, exact: true }).first().waitFor()
  await at(2, 4)
  await createFolder(page, config, 'Views', [{ ...pictures[5], name: 'a lake.png' }])
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange'))) // as a user who comes back
  await at(3, 5)
  await shows('lake 2.png')
  await viewer.getByRole('button', { name: 'lake 3.png' }).click()
  await at(4, 5)
  await viewer.getByRole('button', { name: 'lake 2.png' }).click()

  await page.keyboard.press('F2')
  const form = page.getByRole('dialog', { name: say.rename })
  await form.getByLabel(say.newName).fill('lake 2 at noon.png') // it keeps its place in the order
  await form.getByRole('button', { name: say.save }).click()
  await form.waitFor({ state: 'detached' })
  await shows('lake 2 at noon.png')
  const message = viewer.getByRole('alert').filter({ hasText: 'lake 2 at noon.png' })
  await message.waitFor()
  await page.keyboard.press('Delete')
  await shows('lake 3.png')
  await message.hover() // keeps it
  await config.shot('viewer-deleted')
  await message.getByRole('button').click()
  await shows('lake 2 at noon.png')
}

async function views(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Views', [...pictures.slice(0, 3), ...papers.slice(0, 1)])
  await page.goto(`/app/files${folder}`)
  await page.getByRole('link', { name: /^lake 1\.png/ }).dblclick()
  const viewer = page.getByRole('dialog')
  await viewer.locator('img').first().waitFor()
  equal('the query of the address', new URL(page.url()).searchParams.has('view'), true)
  equal('faults of the viewer', await inspect(page), [])
  await config.shot('viewer')
  await page.keyboard.press('ArrowRight')
  await viewer.getByText('lake 2.png').first().waitFor()
  await changesViewed(page, config, viewer)
  await page.goBack()
  await viewer.waitFor({ state: 'detached' })
  equal('the address', decodeURIComponent(new URL(page.url()).pathname), `/app/files${folder}`)
  await page.getByRole('link', { name: /^notes\.txt/ }).dblclick()
  await viewer.getByText('a few words').waitFor()
  await page.keyboard.press('Control+f')
  await page.keyboard.type('FEW')
  await viewer.getByText(place(config, 1, 1), { exact: true }).waitFor()
  equal('faults of the viewer of text', await inspect(page), [])
  await config.shot('viewer-text')
  await page.keyboard.press('Escape')
  await becomes('the search fields', () => viewer.getByRole('textbox').count(), 0)
  await page.keyboard.press('Escape')
  await viewer.waitFor({ state: 'detached' })

  await page.getByRole('link', { name: /^notes\.txt/ }).click()
  await page.keyboard.press('Shift+Delete')
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: say.delete, exact: true }).hover()
  equal('faults of the question', await inspect(page), [])
  equal('the focus of the question', await page.evaluate(() => document.activeElement.textContent.trim()), say.cancel)
  await config.shot('delete')
  await dialog.getByRole('button', { name: say.delete, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /^notes\.txt/ }).waitFor({ state: 'detached' })
}

// A move in the background goes on, reports its result, and refreshes the folder on the screen.
async function movesOn(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(
    page,
    config,
    'Moving',
    ['first', 'second'].map((name) => ({ name: `${name} ${config.language}.txt`, bytes: btoa(name) })),
  )
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^first/ }).waitFor()
  let release
  const released = new Promise((resolve) => (release = resolve))
  await page.route('**/api/files/batch', async (route) => {
    await released
    await route.continue()
  })
  await page.keyboard.press('Control+a')
  await page.getByRole('button', { name: say.move, exact: true }).click()
  const target = page.getByRole('dialog', { name: say.moveTitle })
  await target.getByRole('treeitem', { name: say.publicFolder }).click()
  await target.getByRole('button', { name: say.moveHere }).click()
  await target.getByRole('button', { name: say.inBackground }).click()
  await target.waitFor({ state: 'detached' })
  await becomes('how many are there', () => page.getByRole('gridcell').count(), 2)
  await page.getByRole('progressbar', { name: say.moving }).waitFor()
  equal('faults of the card', await inspect(page), [])
  await config.shot('moving')
  release()
  await page.getByText(say.moved).hover() // keeps it
  await page.getByText(say.emptyFolder).waitFor()
  await becomes('cards', () => page.getByRole('progressbar', { name: say.moving }).count(), 0)
  await page.getByRole('button', { name: say.undo, exact: true }).click()
  await becomes('how many are back', () => page.getByRole('gridcell').count(), 2)
}

// A refusal is shown in the user's language, at the form that caused it, and takes the focus.
async function refuses(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Refused', papers.slice(0, 1))
  await page.goto(`/app/files${folder}`)
  const entry = page.getByRole('gridcell', { name: /^notes\.txt/ })
  await entry.waitFor()
  await page.keyboard.press('Alt+n')
  const name = page.getByRole('textbox', { name: say.folderName })
  await name.fill('a/b')
  await name.press('Enter')
  await page.getByRole('alert').filter({ hasText: say.badName }).waitFor()
  await becomes(
    'whether the focus is on the name',
    () => name.evaluate((field) => field === document.activeElement),
    true,
  )
  equal('faults of a name that is refused', await inspect(page), [])
  await page.keyboard.press('Escape')

  const broken = { success: false, error: { code: 'FORBIDDEN', message: 'No.' }, timestamp: 0 }
  await page.route('**/api/files/*', (route) =>
    route.request().method() === 'PUT' ? route.fulfill({ status: 403, json: broken }) : route.fallback(),
  )
  await entry.click({ button: 'right' })
  await page.getByRole('menuitem', { name: say.appearance }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: say.save }).click()
  const told = dialog.getByRole('alert').filter({ hasText: say.noPermission })
  await told.waitFor()
  await until('the focus on what went wrong', () => told.evaluate((words) => words === document.activeElement))
  equal('faults of the dialog', await inspect(page), [])
}

// Abuse cases C67 to C72: the page shows files of any name and content, and executes none of them.
async function harmless(page, config) {
  const ran = []
  page.on('dialog', (dialog) => {
    ran.push(dialog.message())
    void dialog.dismiss()
  })
  await enter(page, config, '/public/odd')
  await page.getByRole('link', { name: /^readme\.md/ }).waitFor()
  const links = await page
    .locator('main a[href*="view="]')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href')))
  equal('how many files there are', links.length >= 9, true)
  for (const link of links) {
    await page.goto(new URL(link, page.url()).href)
    await page.getByRole('dialog').waitFor()
    await page.waitForLoadState('networkidle')
  }
  await page.goto('/app/files/public/odd')
  await page.getByRole('link', { name: /onerror=alert/ }).waitFor()
  equal('what ran', ran, [])
}

export const scenarios = [
  { name: 'the file browser looks right', forms: everyWith('narrow', 'medium', 'wide'), run: looks },
  { name: 'shows and deletes files', forms: bothLanguages, run: views },
  { name: 'moves on in the background', forms: inChinese, run: movesOn },
  { name: 'says what is refused', forms: inChinese, run: refuses },
  { name: 'runs nothing of what is stored', forms: once, run: harmless },
]
