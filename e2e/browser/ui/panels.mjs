// Opens all panels of a folder, one after the other. The caller decides which checks run on each.
import { few, windows } from './forms.mjs'
import { createFolder, enter } from './files.mjs'
import { equal, inspect, isPhone } from './harness.mjs'
import { labels } from './labels.mjs'
import { paper } from './media.mjs'
import { cramped } from './phone.mjs'
import { png } from './pictures.mjs'
import { walkSettings } from './settings.mjs'

const base64 = (text) => Buffer.from(text).toString('base64')
const contents = [
  ...[1, 2, 3].map((n) => ({ name: `lake ${n}.png`, bytes: png(480, 320, n / 3).toString('base64') })),
  { name: 'notes.txt', bytes: base64('a few words') },
  {
    name: 'readme.md',
    bytes: base64(
      '# Read this\n\n- one\n- [two](https://example.org)\n\n```js\nlet three = 3\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n',
    ),
  },
  paper,
  { name: 'clip.mp4', bytes: base64('no film') },
  { name: 'data.bin', bytes: base64('\0\x01\x02') },
]

// fromMenu selects an entry and runs an action from the menu of the selection bar.
export async function fromMenu(page, say, entry, action) {
  await page.getByRole('link', { name: entry }).click()
  await page.getByRole('button', { name: say.more, exact: true }).click()
  // the label includes the shortcut
  await page.getByRole('menuitem', { name: new RegExp(`^${action}`) }).click()
}

// expectFocus fails if no element has the focus after a dialog has closed.
async function expectFocus(page, what) {
  equal(
    `whether something has the focus after ${what}`,
    await page.evaluate(() => document.activeElement !== document.body),
    true,
  )
}

async function dialogs(page, say, look) {
  const named = async (what, action, title, inside) => {
    await fromMenu(page, say, /^notes\.txt/, action)
    const dialog = page.getByRole('dialog', { name: title })
    await dialog.waitFor()
    await inside?.(dialog)
    await look(what)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expectFocus(page, what)
  }
  await named('move', say.moveTo, say.moveTitle, (dialog) => dialog.getByRole('treeitem', { name: 'Panels' }).waitFor())
  await named('copy', say.copyTo, say.copyTitle, (dialog) => dialog.getByRole('treeitem', { name: 'Panels' }).waitFor())
  await named('delete', say.deleteForGood, say.deleteTitle)
  await named('appearance', say.appearance, say.appearanceTitle)
  await named('password', say.filePassword, say.passwordTitle)
  await named('links', say.links, say.link, async (dialog) => {
    for (const tab of [say.direct, 'HTML', 'BBCode', 'Markdown']) {
      await dialog.getByRole('tab', { name: tab }).click()
      await look(`links as ${tab}`)
    }
    for (const [what, kind] of [['path', say.withAccess], ['temporary', say.temporary], ['permanent', say.permanent]]) {
      await dialog.getByRole('radio', { name: kind }).check()
      await look(`${what} links`)
    }
    await dialog.getByRole('button', { name: say.makePermanent }).click()
    await dialog.getByRole('button', { name: say.revoke }).waitFor()
    await look('permanent links that are made')
    await dialog.getByRole('button', { name: say.qr }).click()
    await dialog.getByRole('img', { name: say.qrShown }).waitFor()
  })
}

async function sharing(page, say, look) {
  await fromMenu(page, say, /^notes\.txt/, say.share)
  const dialog = page.getByRole('dialog', { name: say.shareTitle })
  await dialog.waitFor()
  await look('share')
  await dialog.getByText(say.shareOptions).click()
  await look('options of a share')
  await dialog.getByRole('button', { name: say.makeShare }).click()
  const made = page.getByRole('dialog', { name: say.sharedTitle })
  await made.getByRole('button', { name: say.qr }).click()
  await made.getByRole('img', { name: say.shareQr }).waitFor()
  await look('share that is made')
  await page.keyboard.press('Escape')
  await made.waitFor({ state: 'detached' })
  await expectFocus(page, 'share')
}

async function inPlace(page, say, look, phone) {
  await page.getByRole('button', { name: say.display }).click()
  await page.getByRole('menuitem', { name: say.shortcuts }).waitFor()
  await look('display')
  await page.getByRole('menuitem', { name: say.shortcuts }).click()
  await page.getByRole('dialog', { name: say.shortcuts }).waitFor()
  await look('shortcuts')
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await expectFocus(page, 'shortcuts')

  // on a phone the button to add entries needs an empty selection
  await page.keyboard.press('Escape')
  if (phone) await page.getByRole('button', { name: say.add, exact: true }).click()
  await page.getByRole(phone ? 'menuitem' : 'button', { name: say.newFolder }).click()
  await page.getByLabel(say.folderName).waitFor()
  await look('new folder')
  await page.keyboard.press('Escape')
  await expectFocus(page, 'new folder')

  await fromMenu(page, say, /^notes\.txt/, say.rename)
  await page.getByLabel(say.newName).waitFor()
  await look('rename')
  await page.keyboard.press('Escape')
  await expectFocus(page, 'rename')

  await page.getByRole('button', { name: say.more, exact: true }).click()
  await look('menu')
  await page.getByRole('menuitem', { name: say.details }).click()
  await page
    .getByText(say.hideDetails)
    .or(page.getByRole('button', { name: say.hideDetails }))
    .first()
    .waitFor()
  await look('details')
  await page.getByRole('button', { name: say.hideDetails }).click()
  await expectFocus(page, 'details')
}

async function viewer(page, say, look) {
  const shown = page.getByRole('dialog')
  for (const [file, ready] of [
    ['lake 1.png', shown.getByRole('img').first()],
    ['notes.txt', shown.getByText('a few words')],
    ['readme.md', shown.getByRole('heading', { name: 'Read this' })],
    ['paper.pdf', shown.locator('iframe, a[target]').first()],
    ['clip.mp4', shown.getByText(say.noPlay)],
    ['data.bin', shown.getByText(say.noView)],
  ]) {
    await page.getByRole('link', { name: new RegExp(`^${file.replace('.', '\\.')}`) }).dblclick()
    await ready.waitFor()
    await look(`viewer of ${file}`)
    await page.keyboard.press('Escape')
    await shown.waitFor({ state: 'detached' })
    await expectFocus(page, `viewer of ${file}`)
  }
}

async function notices(page, say, look, phone) {
  await page.getByRole('link', { name: /^notes\.txt/ }).click()
  await page.keyboard.press('Control+x')
  await page.getByText(say.cutDone).waitFor()
  const refusal = { success: false, error: { code: 'FORBIDDEN', message: 'no', timestamp: 1 } }
  await page.route('**/api/files/*/download', (route) => route.fulfill({ status: 403, json: refusal }))
  await page.getByRole('button', { name: say.download, exact: true }).click()
  await page.getByText(say.forbiddenHere).waitFor()
  await look('toasts')
  const close = page.getByRole('region', { name: say.notices }).getByRole('button', { name: say.close, exact: true })
  await close.last().focus() // no message disappears while one has the focus
  for (let left = await close.count(); left > 0; left--) await close.first().click()
  await page.keyboard.press('Escape')

  const upload = async (files, words = 'other words') => {
    if (phone) await page.getByRole('button', { name: say.add, exact: true }).click()
    const button = page
      .getByRole('main')
      .getByRole(phone ? 'menuitem' : 'button', { name: say.upload, exact: true })
      .first()
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button.click()])
    await chooser.setFiles(files.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(words) })))
  }
  await upload(['notes.txt'])
  const sheet = page.getByRole('dialog', { name: say.conflict })
  await sheet.waitFor()
  equal('the files of the conflict', await sheet.locator('figcaption strong').allTextContents(), say.both)
  await look('conflict')
  await sheet.getByRole('button', { name: say.skipFile }).click()
  await sheet.waitFor({ state: 'detached' })
  await expectFocus(page, 'conflict')
  await upload(['notes.txt'], 'a few words') // as it is there
  await page.getByRole('heading', { name: say.leftOut }).waitFor()
  await look('the same file')
  await page.getByRole('button', { name: say.clearList }).click()

  await page.route('**/api/files/upload-session', (route) => route.fulfill({ status: 403, json: refusal }))
  await upload(['one.txt', 'two.txt'])
  await page.getByRole('button', { name: say.retryAll }).waitFor()
  if (phone) {
    // the tray does not cover it
    await page.getByRole('button', { name: say.add, exact: true }).click({ trial: true })
    await page.getByRole('button', { name: say.showUploads }).click()
  }
  await look('tray')
}

// walk opens one panel after the other and calls look with the name of each.
export async function walk(page, config, look) {
  const say = labels[config.language]
  const phone = isPhone(config.size)
  await enter(page, config, '')
  await walkSettings(page, config, look)
  const folder = await createFolder(page, config, 'Panels', contents)
  await createFolder(page, config, 'Inner', [], folder)
  await page.goto(`/app/files${folder}`)
  await page.getByRole('link', { name: /^lake 1\.png/ }).waitFor()
  await look('folder')
  await dialogs(page, say, look)
  await sharing(page, say, look)
  await inPlace(page, say, look, phone)
  await viewer(page, say, look)
  await notices(page, say, look, phone)
}

async function looks(page, config) {
  const found = []
  await walk(page, config, async (what) => {
    found.push(...[...(await inspect(page)), ...(await cramped(page, config))].map((fault) => `${what}: ${fault}`))
    await config.shot(`panel-${what}`)
  })
  equal('faults', found, [])
}

const forms = (full) => [...few(full), ...windows(full, full ? ['narrow', 'wide'] : ['narrow'])]

export const scenarios = [{ name: 'every panel looks right', forms, run: looks }]
