// Copied links: whoever gets one opens it in a browser of their own, without an account.
import { createFolder, enter } from './files.mjs'
import { everyWith, once } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { fromMenu } from './panels.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'

const names = ['one.png', 'two.png', 'three.png']
const all = [...names, 'four.png', 'fifth.png', 'pasted']
const bytesOf = (name) => png(1600, 900, all.indexOf(name) / all.length)
const unset = 'nothing is copied'

// clipboard empties the clipboard, runs an action and returns what it has copied.
export async function clipboard(page, action) {
  await page.evaluate((unset) => navigator.clipboard.writeText(unset), unset)
  await action()
  let text = unset
  await until('copying', async () => {
    text = await page.evaluate(() => navigator.clipboard.readText())
    return text !== unset
  })
  return text
}

// openAll opens each address of a text in a new profile, and returns the answers.
async function openAll(page, text) {
  const stranger = await page.context().browser().newContext()
  const answers = []
  for (const [url] of text.matchAll(/https?:\/\/[^\s"'<>()[\]]+/g)) {
    const tab = await stranger.newPage()
    const answer = await tab.goto(url)
    answers.push({ url, status: answer.status(), type: answer.headers()['content-type'], bytes: await answer.body() })
    await tab.close()
  }
  await stranger.close()
  return answers
}

// wantPictures fails unless the addresses of a text are exactly the named pictures, in this order.
async function wantPictures(page, what, text, ...wanted) {
  const answers = await openAll(page, text)
  equal(
    `what a stranger gets from ${what}`,
    answers.map(({ status, bytes }) => [status, wanted.find((name) => bytesOf(name).equals(bytes)) ?? 'other bytes']),
    wanted.map((name) => [200, name]),
  )
}

async function stand(page, config, folder, more = []) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(page, config, '')
  const files = [...names.map((name) => ({ name, bytes: bytesOf(name).toString('base64') })), ...more]
  const path = await createFolder(page, config, folder, files)
  await page.goto(`/app/files${path}`)
  await page.getByRole('link', { name: /^one\.png/ }).waitFor()
  return path
}

const pick = (page, name) => page.getByRole('link', { name: new RegExp(`^${name.replace('.', '\\.')}`) })
const toast = (page, say, text) => page.getByRole('region', { name: say.notices }).getByText(text).last()

// copyButton presses the button of a tile or picture that copies its link.
async function copyButton(page, say, name) {
  const button = page.locator('[data-copy]').and(page.getByLabel(say.copyLinkOf(name), { exact: true }))
  await page.getByRole('gridcell').filter({ has: button }).hover()
  await button.click()
}

// By keys, menus, buttons, the viewer, the tray and pasting: the first time it asks, then no more.
async function everywhere(page, config) {
  const say = labels[config.language]
  const path = await stand(page, config, 'Everywhere')
  const question = page.getByRole('dialog', { name: say.linkQuestion })
  const first = await clipboard(page, async () => {
    await pick(page, 'one.png').click()
    await page.keyboard.press('Control+c')
    await question.waitFor()
    await becomes(
      'what is proposed for a picture',
      () => question.getByRole('radio', { name: say.permanent }).isChecked(),
      true,
    )
    await question.getByText(say.makesPublic).waitFor()
    await page.keyboard.press('Enter')
  })
  await toast(page, say, say.copiedForAll(1)).waitFor()
  await wantPictures(page, 'Ctrl+C', first, 'one.png')

  const item = page.getByRole('menuitem', { name: new RegExp(`^${say.copyLink}`) })
  const ways = {
    'Ctrl+C again': ['two.png', () => pick(page, 'two.png').click().then(() => page.keyboard.press('Control+c'))],
    'the context menu': ['one.png', () => pick(page, 'one.png').click({ button: 'right' }).then(() => item.click())],
    'the menu of a tile': [
      'two.png',
      async () => {
        const cell = page.getByRole('gridcell').filter({ has: pick(page, 'two.png') })
        await cell.hover()
        await cell.locator('[data-more]').click()
        await item.click()
      },
    ],
    'the button of a tile': ['three.png', () => copyButton(page, say, 'three.png')],
    'the viewer': [
      'three.png',
      async () => {
        await pick(page, 'three.png').dblclick()
        await page.getByRole('dialog').getByRole('img').first().waitFor()
        await page.keyboard.press('l')
      },
    ],
  }
  for (const [what, [name, way]] of Object.entries(ways)) {
    await wantPictures(page, what, await clipboard(page, way), name)
    if (what === 'the viewer') await page.keyboard.press('Escape')
  }
  const three = await clipboard(page, async () => {
    await pick(page, 'one.png').click()
    await page.keyboard.press('Control+a')
    await page.keyboard.press('Control+c')
  })
  await toast(page, say, say.copiedForAll(3)).waitFor()
  await wantPictures(page, 'a selection', three, 'one.png', 'three.png', 'two.png')

  const chooser = page.waitForEvent('filechooser')
  await page.keyboard.press('Alt+u')
  const sent = ['four.png', 'fifth.png'].map((name) => ({ name, mimeType: 'image/png', buffer: bytesOf(name) }))
  await (await chooser).setFiles(sent)
  const tray = page.getByRole('region', { name: say.uploads, exact: true })
  const one = tray.getByRole('button', { name: say.copyLinkOf('four.png') })
  await wantPictures(page, 'a line of the tray', await clipboard(page, () => one.click()), 'four.png')
  const batch = tray.getByRole('button', { name: say.copyAllLinks })
  const both = (await clipboard(page, () => batch.click())).split('\n').sort()
  equal('links of the tray', both.length, 2)
  equal('what a stranger gets', (await openAll(page, both.join('\n'))).map(({ status }) => status), [200, 200])

  const pasted = await clipboard(page, () =>
    page.evaluate((base64) => {
      const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))
      const clipboardData = new DataTransfer()
      clipboardData.items.add(new File([bytes], 'image.png', { type: 'image/png' }))
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }, bytesOf('pasted').toString('base64')),
  )
  await wantPictures(page, 'pasting', pasted, 'pasted')

  await page.evaluate(async (path) => {
    const { data } = await (await fetch('/api/auth/csrf-token')).json()
    const { items } = (await (await fetch(`/api/files?path=${encodeURIComponent(path)}`)).json()).data
    const { id } = items.find(({ name }) => name === 'fifth.png')
    await fetch(`/api/users/me/favourites/${id}`, { method: 'PUT', headers: { 'X-CSRF-Token': data.token } })
  }, path)
  const byKey = () => pick(page, 'fifth.png').click().then(() => page.keyboard.press('Control+c'))
  const places = { [`files${path}?search=fifth`]: byKey, recent: byKey, favourites: byKey }
  places.photos = () => copyButton(page, say, 'fifth.png')
  for (const [place, way] of Object.entries(places)) {
    await page.goto(`/app/${place}`)
    await wantPictures(page, place, await clipboard(page, way), 'fifth.png')
  }
}

// Items that cannot have every kind of link do not decide about the links to pictures.
async function forced(page, config) {
  const say = labels[config.language]
  const path = await stand(page, config, 'Forced', [{ name: 'paper.pdf', bytes: btoa('%PDF-1.4') }])
  await createFolder(page, config, 'inner', [], path)
  await page.reload()
  const question = page.getByRole('dialog', { name: say.linkQuestion })
  const copyOf = (name) => pick(page, name).click().then(() => page.keyboard.press('Control+c'))
  // proposes fails unless the question proposes a kind, and accepts that.
  const proposes = async (kind) => {
    await becomes('the proposed kind', () => question.getByRole('radio', { name: kind }).isChecked(), true)
    await page.keyboard.press('Enter')
  }
  const folder = `${config.base}/app/files${path}/inner`
  equal('the link of a folder', await clipboard(page, () => copyOf('inner')), folder)
  await toast(page, say, say.noLinkForAll(say.foldersHaveNone)).waitFor()
  const paper = await clipboard(page, async () => {
    await copyOf('paper.pdf')
    await proposes(say.withAccess)
  })
  equal('the link of a PDF', paper, `${config.base}${path}/paper.pdf`)
  const first = await clipboard(page, async () => {
    await copyOf('one.png')
    await proposes(say.permanent)
  })
  await wantPictures(page, 'a picture after a folder and a PDF', first, 'one.png')

  await fromMenu(page, say, /^inner/, say.links)
  const dialog = page.getByRole('dialog', { name: say.link, exact: true })
  const copyInPanel = () => dialog.getByRole('button', { name: say.copyLink, exact: true }).click()
  equal('the link in the panel', await clipboard(page, copyInPanel), folder)
  await dialog.getByRole('status').getByText(say.copiedPath(1)).waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await wantPictures(page, 'a picture after a panel', await clipboard(page, () => copyOf('two.png')), 'two.png')
  equal('the next link of a PDF', await clipboard(page, () => copyOf('paper.pdf')), paper)
}

// The panel: every format, the sizes, a picture that leads to the original, and many files at once.
async function panel(page, config) {
  const say = labels[config.language]
  const path = await stand(page, config, 'Formats')
  await until('the widths of the pictures', () =>
    page.evaluate(async (path) => {
      const { items } = (await (await fetch(`/api/files?path=${encodeURIComponent(path)}`)).json()).data
      return items.every(({ width }) => width)
    }, path),
  )
  await page.reload()
  await fromMenu(page, say, /^one\.png/, say.links)
  const dialog = page.getByRole('dialog', { name: say.link, exact: true })
  await dialog.getByRole('button', { name: say.makePermanent }).click()
  const copied = (name) => clipboard(page, () => dialog.getByRole('button', { name, exact: true }).click())
  for (const format of [say.direct, 'HTML', 'BBCode', 'Markdown']) {
    await dialog.getByRole('tab', { name: format }).click()
    await wantPictures(page, format, await copied(say.copyLink), 'one.png')
    await dialog.getByRole('status').getByText(say.copiedForAll(1)).waitFor()
  }
  await dialog.getByLabel(say.leadsToOriginal).check()
  for (const [option, width] of [
    ['1280', 1280],
    ['640', 640],
  ]) {
    await dialog.getByLabel(say.sizeOfPictures).selectOption(option)
    const text = await copied(say.copyLink)
    const [small, original] = await openAll(page, text)
    equal('the original behind the picture', bytesOf('one.png').equals(original.bytes), true)
    equal('the status and kind of the picture', [small.status, small.type.split('/')[0]], [200, 'image'])
    const wide = await page.evaluate(async (src) => {
      const image = new Image()
      image.src = src
      await image.decode()
      return image.naturalWidth
    }, small.url)
    equal('the width of the picture', wide, width)
  }
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  // A server without thumbnails has the original only, and the panel does not remember the size.
  await page.route('**/api/i/*/thumbnail?size=1280', (route) => route.fulfill({ status: 404 }))
  await fromMenu(page, say, /^one\.png/, say.links)
  await dialog.getByRole('button', { name: say.makePermanent }).click()
  await dialog.getByLabel(say.sizeOfPictures).selectOption('1280')
  await dialog.getByText(say.noSizes).waitFor()
  await wantPictures(page, 'a size that there is not', await copied(say.copyLink), 'one.png', 'one.png')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  // keys copy in the same form
  const keyed = await clipboard(page, async () => {
    await pick(page, 'two.png').click()
    await page.keyboard.press('Control+c')
  })
  equal('the form', /^\[!\[two\.png\]\(\S+\/thumbnail\?size=640\)\]\(\S+\.png\)$/.test(keyed), true)

  await page.keyboard.press('Control+a')
  await page.getByRole('button', { name: say.more, exact: true }).click()
  await page.getByRole('menuitem', { name: new RegExp(`^${say.links}`) }).click()
  const many = page.getByRole('dialog', { name: say.manyLinks(3) })
  let calls = 0
  page.on('request', (request) => (calls += request.url().endsWith('/api/files/links') ? 1 : 0))
  await many.getByRole('button', { name: say.makeMany(3) }).click()
  await many.getByLabel(say.sizeOfPictures).selectOption('0')
  equal('requests for three links', calls, 1)
  await many.getByLabel(say.leadsToOriginal).uncheck()
  for (const format of [say.direct, 'HTML', 'BBCode', 'Markdown']) {
    await many.getByRole('tab', { name: format }).click()
    const text = await clipboard(page, () => many.getByRole('button', { name: say.copyAll }).click())
    await wantPictures(page, `${format} of many`, text, 'one.png', 'three.png', 'two.png')
  }

  // the tray copies in the form that is remembered, also before the server has read the picture
  await many.getByLabel(say.sizeOfPictures).selectOption('640')
  const size = () => page.evaluate(() => JSON.parse(localStorage.getItem('larder.links')).width)
  await becomes('the size that is remembered', size, 640)
  await page.keyboard.press('Escape')
  await many.waitFor({ state: 'detached' })
  const chooser = page.waitForEvent('filechooser')
  await page.keyboard.press('Alt+u')
  await (await chooser).setFiles([{ name: 'four.png', mimeType: 'image/png', buffer: bytesOf('four.png') }])
  const tray = page.getByRole('region', { name: say.uploads, exact: true })
  const sent = await clipboard(page, () => tray.getByRole('button', { name: say.copyLinkOf('four.png') }).click())
  equal('the form in the tray', /^!\[four\.png\]\(\S+\.png\/thumbnail\?size=640\)$/.test(sent), true)
}

// Whoever chose another kind gets that, and is told why a public link is not possible.
async function honest(page, config) {
  const say = labels[config.language]
  const path = await stand(page, config, 'Honest', [{ name: 'locked.txt', bytes: btoa('a secret') }])
  await page.evaluate(async (path) => {
    const { data } = await (await fetch('/api/auth/csrf-token')).json()
    const { items } = (await (await fetch(`/api/files?path=${encodeURIComponent(path)}`)).json()).data
    const { id } = items.find(({ name }) => name === 'locked.txt')
    await fetch(`/api/files/${id}`, {
      method: 'PUT',
      headers: { 'X-CSRF-Token': data.token, 'Content-Type': 'application/json' },
      body: JSON.stringify({ accessPassword: 'open sesame' }),
    })
  }, path)
  await page.reload()
  const question = page.getByRole('dialog', { name: say.linkQuestion })
  const answer = async (kind) => {
    await question.getByRole('radio', { name: kind }).check()
    await question.getByRole('button', { name: say.copyOnly, exact: true }).click()
  }
  const copyOf = (name) => pick(page, name).click().then(() => page.keyboard.press('Control+c'))

  const direct = await clipboard(page, async () => {
    await copyOf('one.png')
    await answer(say.withAccess)
  })
  equal('the path', direct, `${config.base}${path}/one.png`)
  const signed = await clipboard(page, async () => {
    await page.getByRole('button', { name: say.change }).click()
    await answer(say.temporary)
  })
  const open = await clipboard(page, async () => {
    await page.getByRole('button', { name: say.change }).click()
    await answer(say.permanent)
  })
  await toast(page, say, say.copiedForAll(1)).waitFor()

  const locked = await clipboard(page, () => copyOf('locked.txt'))
  equal('the link of a locked file', locked, `${config.base}${path}/locked.txt`)
  await toast(page, say, say.noLinkForAll('a password protects it')).waitFor()

  equal('a stranger with a path', (await openAll(page, direct)).map(({ status }) => status), [401])
  await wantPictures(page, 'the changed kind', open, 'one.png')
  const stranger = await page.context().browser().newContext()
  const got = await stranger.request.get(signed) // a page would download it
  equal('a stranger with a link for some time', [got.status(), bytesOf('one.png').equals(await got.body())], [200, true])
  await stranger.close()
}

// How it looks.
async function looks(page, config) {
  const say = labels[config.language]
  await stand(page, config, 'Looks')
  const menu = async (action) => {
    const cell = page.getByRole('gridcell').filter({ has: pick(page, 'one.png') })
    await cell.hover()
    await cell.locator('[data-more]').click()
    await page.getByRole('menuitem', { name: new RegExp(`^${action}`) }).click()
  }
  const look = async (what) => {
    equal(`faults of ${what}`, await inspect(page), [])
    equal(`what is cramped on ${what}`, await cramped(page, config), [])
    await config.shot(`links-${what}`)
  }
  await menu(say.copyLink)
  const question = page.getByRole('dialog', { name: say.linkQuestion })
  await question.getByRole('radio', { name: say.temporary }).check()
  await look('question-for-some-time')
  await question.getByRole('radio', { name: say.permanent }).check()
  await look('question')
  await question.getByRole('button', { name: say.copyOnly, exact: true }).click()
  await toast(page, say, say.copiedForAll(1)).waitFor()
  await look('copied')
  await menu(say.links)
  const dialog = page.getByRole('dialog', { name: say.link, exact: true })
  await dialog.getByRole('radio', { name: say.permanent }).waitFor()
  await look('panel')
  await dialog.getByRole('button', { name: say.makePermanent }).click()
  await dialog.getByRole('button', { name: say.revoke }).waitFor()
  await look('panel-made')
  await dialog.getByRole('button', { name: say.copyLink, exact: true }).click()
  await dialog.getByRole('status').getByText(say.copiedForAll(1)).waitFor()
  await look('panel-copied')
}

export const scenarios = [
  { name: 'copies links that strangers open', forms: once, run: everywhere },
  { name: 'asks about pictures and other files apart', forms: once, run: forced },
  { name: 'copies links in every form', forms: once, run: panel },
  { name: 'says who can open a copied link', forms: once, run: honest },
  { name: 'asks who may open links', forms: everyWith('narrow'), run: looks },
]
