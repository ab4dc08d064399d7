// The actions of a folder, in its menu and in the command list; the player; and no overlap of the
// floating elements at the lower edge.
import { createFolder, enter } from './files.mjs'
import { bothLanguages, inChinese, once } from './forms.mjs'
import { becomes, equal, inspect, sizes, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { wave } from './pictures.mjs'

const focused = (page) =>
  page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.id)

// The menu of the folder opens by a right click beside the entries, and by its key while nothing is
// selected.
async function offers(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(
    page,
    config,
    'Menus',
    ['a.txt', 'b.txt'].map((name) => ({ name, bytes: btoa(name) })),
  )
  await page.goto(`/app/files${folder}`)
  const first = page.getByRole('gridcell', { name: /^a\.txt/ })
  await first.waitFor()
  await page.mouse.click(1200, 700, { button: 'right' })
  const menu = page.getByRole('menu', { name: say.actions, exact: true })
  equal('faults of the menu', await inspect(page), [])
  await config.shot('folder-menu')
  await menu.getByRole('menuitem', { name: say.selectAll }).click()
  await page.getByRole('toolbar', { name: say.forChosen }).waitFor()
  await becomes('how many are chosen', () => page.getByRole('gridcell', { selected: true }).count(), 2)

  await page.keyboard.press('Escape')
  await page.keyboard.press('Shift+F10')
  await menu.getByRole('menuitem', { name: say.folderDetails }).press('Enter')
  const details = page.getByRole('complementary', { name: say.details })
  await details.getByText(folder, { exact: true }).waitFor()
  equal('faults with the details', await inspect(page), [])

  await first.click()
  await page.keyboard.press('Shift+F10')
  // this is the menu of the selection
  await becomes('entries to choose everything', () => menu.getByRole('menuitem', { name: say.selectAll }).count(), 0)
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+x')
  await becomes(
    'buttons to move it to where it is',
    () => page.getByRole('button', { name: say.moveItemHere }).count(),
    0,
  )
  await page.keyboard.press('Backspace')
  await page.getByRole('button', { name: say.moveItemHere }).click()
  await page.getByRole('gridcell', { name: /^a\.txt/ }).waitFor()
}

// The command list, by the keyboard alone.
async function commands(page, config) {
  const say = labels[config.language]
  await enter(page, config, '/public/odd')
  await page.getByRole('link', { name: /^readme\.md/ }).waitFor()
  await page.keyboard.press('Control+k')
  const dialog = page.getByRole('dialog', { name: say.commands })
  const field = dialog.getByRole('combobox', { name: say.find })
  await field.waitFor()
  equal('faults of the list', await inspect(page), [])
  await config.shot('commands')
  await page.keyboard.type('no such thing')
  await dialog.getByText(say.noneFound).first().waitFor()
  equal('faults without an answer', await inspect(page), [])
  const first = async () => (await dialog.getByRole('option').first().innerText()).trim().split('\n')[0]
  await field.fill(say.newFolder)
  await becomes('the best option', first, say.newFolder)
  await page.keyboard.press('Enter')
  await page.getByRole('textbox', { name: say.folderName }).waitFor()
  await page.keyboard.press('Escape')

  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+k')
  await field.fill(say.delete)
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  equal(
    'the command that Enter would do',
    await dialog
      .getByRole('option', { selected: true })
      .innerText()
      .then((text) => text.split('\n')[0]),
    say.delete,
  )
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  equal('whether the focus is lost', await page.evaluate(() => document.activeElement === document.body), false)

  await page.keyboard.press('?')
  const sheet = page.getByRole('dialog', { name: say.shortcuts })
  await sheet.getByText(say.commands).waitFor()
  await page.keyboard.press('Escape')
}

// Audio goes on when the viewer is closed and on other screens, and moves back to the viewer.
async function plays(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Sounds', [
    { name: 'song.wav', bytes: wave(60).toString('base64') },
    { name: 'words.txt', bytes: btoa('la') },
  ])
  await page.goto(`/app/files${folder}`)
  const song = page.getByRole('gridcell', { name: /^song\.wav/ })
  await song.dblclick()
  const viewer = page.getByRole('dialog')
  await viewer.locator('audio').evaluate((element) => element.play())
  await page.keyboard.press('Escape')
  const player = page.getByRole('region', { name: say.player, exact: true })
  await player.getByText('song.wav').waitFor()
  await viewer.waitFor({ state: 'detached' })
  equal('faults of the player', await inspect(page), [])
  await config.shot('player')
  const time = () => page.locator('audio').evaluate((element) => (element.paused ? -1 : element.currentTime))
  const goesOn = async () => {
    const before = await time()
    await until('playing on', async () => (await time()) > before)
    return before
  }
  await goesOn()
  await page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: say.keys }).click()
  await page.getByRole('heading', { level: 1, name: say.keys }).waitFor()
  const before = await goesOn()
  await player.getByRole('button', { name: say.pause }).press('Enter')
  equal('whether it plays', await time(), -1)
  await player.getByRole('button', { name: say.play }).press('Enter')
  await player.getByRole('button', { name: say.toViewer }).press('Enter')
  await viewer.locator('audio').waitFor()
  await player.waitFor({ state: 'detached' })
  equal('whether it has begun anew', (await time()) < before, false)

  // Playback stops when the player is closed.
  await page.keyboard.press('Escape')
  await player.getByRole('button', { name: say.stop }).press('Enter')
  await player.waitFor({ state: 'detached' })
  await becomes('the focus', () => focused(page), 'content')
  await becomes('what plays', () => page.locator('audio').count(), 0)
}

// At both sizes all floating elements at the lower edge are visible together: the selection bar,
// the player, the uploads, and the toasts.
async function floats(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Edge', [
    { name: 'song.wav', bytes: wave(60).toString('base64') },
    { name: 'words.txt', bytes: btoa('la') },
  ])
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^song\.wav/ }).dblclick()
  await page
    .getByRole('dialog')
    .locator('audio')
    .evaluate((element) => element.play())
  await page.keyboard.press('Escape')
  await page.getByRole('region', { name: say.player, exact: true }).waitFor()
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.keyboard.press('Alt+u')])
  await chooser.setFiles(
    ['one.txt', 'two.txt'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) })),
  )
  await page.getByRole('heading', { name: say.uploaded(2) }).waitFor()
  await page.getByRole('gridcell', { name: /^words\.txt/ }).click()
  const toasts = page.getByRole('region', { name: say.notices }).getByRole('listitem')
  await page.keyboard.press('Control+x')
  await toasts.nth(0).getByRole('button').focus() // a toast with the focus does not disappear
  const parts = [
    page.getByRole('toolbar', { name: say.forChosen }),
    page.getByRole('region', { name: say.player, exact: true }),
    page.getByRole('region', { name: say.uploads, exact: true }),
    toasts.nth(0),
  ]
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport)
    let over = ''
    await until(
      `at ${size} nothing hidden`,
      async () => {
        const boxes = await Promise.all(parts.map((part) => part.boundingBox()))
        over = ''
        boxes.forEach((a, i) =>
          boxes.slice(i + 1).forEach((b, j) => {
            const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y
            if (!apart) over += ` ${i} and ${i + 1 + j}`
          }),
        )
        return over === '' && boxes.every(({ y, height }) => y >= 0 && y + height <= viewport.height)
      },
      5000,
    ).catch((cause) => {
      throw new Error(`${cause.message}:${over} over each other`)
    })
    await config.shot(`edge-${size}`)
  }
}

export const scenarios = [
  { name: 'offers the menu of a folder', forms: bothLanguages, run: offers },
  { name: 'lists the commands', forms: bothLanguages, run: commands },
  { name: 'plays on', forms: once, run: plays },
  { name: 'hides nothing at the lower edge', forms: inChinese, run: floats },
]
