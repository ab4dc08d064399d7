// The viewer with pictures of the account: "I open a holiday photo, see how and where it was taken,
// star it, share it, and let the others pass as a slideshow."
import { clipboard } from './copying.mjs'
import { createFolder } from './files.mjs'
import { bothLanguages } from './forms.mjs'
import { becomes, equal, inspect, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { enterNew, examined } from './photos.mjs'
import { glass } from './pictures.mjs'

const texts = {
  'en-US': {
    favourite: 'Favorite',
    unstarred: '1 item removed from Favorites.',
    leave: 'Leave fullscreen',
    taken: 'Jul 1, 2025, 12:00 PM',
    warning: 'The file contains this place. Everyone who can download the file can read it.',
    you: (name) => `${name} (you)`,
    makeLink: /^Make and copy/,
    made: /^Copied/,
    linkHint: 'Anyone with the link can open the file. If a link already exists, you get that one.',
  },
  'zh-CN': {
    favourite: '收藏',
    unstarred: '已取消收藏 1 项。',
    leave: '退出全屏',
    taken: '2025年7月1日 12:00',
    warning: '文件中含有此地点，能下载文件的人都能看到。',
    you: (name) => `${name}（您）`,
    makeLink: /^生成并复制/,
    made: /^已复制/,
    linkHint: '拿到链接的人都能打开文件，相当于公开。如果已有永久链接，将显示现有的链接。',
  },
}

const [holiday, clear, lake] = ['a holiday.jpg', 'b glass.png', 'c lake.jpg']

// opens opens the photo and checks that its preview has the same box as the picture.
async function opens(page, config, viewer, loaded) {
  let release
  const released = new Promise((resolve) => (release = resolve))
  await page.route('**/thumbnail?size=2048*', async (route) => {
    await released
    await route.continue()
  })
  await page.getByRole('gridcell', { name: new RegExp(`^${holiday}`) }).dblclick()
  const box = (part) =>
    viewer.locator(`.stage.current ${part}`).evaluate((one) => {
      const { x, y, width, height } = one.getBoundingClientRect()
      return [x, y, width, height].map(Math.round)
    })
  const preview = await box('canvas')
  release()
  await loaded(holiday)
  equal('the box of the picture', await box('img.main'), preview)
  equal('the previews that are left', await viewer.locator('.stage.current canvas').count(), 0)

  const { colorScheme, backgroundColor } = await viewer.evaluate((dialog) => {
    const { colorScheme, backgroundColor } = getComputedStyle(dialog)
    return { colorScheme, backgroundColor }
  })
  const [red, green, blue] = backgroundColor.match(/\d+/g).map(Number)
  equal(
    `whether ${colorScheme} and ${backgroundColor} are dark`,
    colorScheme === 'dark' && red + green + blue < 150,
    true,
  )
  equal('faults of the viewer', await inspect(page), [])
  await config.shot('viewer-own')
}

async function fillsScreen(page, say, viewer) {
  const whole = () => page.evaluate(() => document.fullscreenElement?.closest('dialog')?.matches('.whole') ?? false)
  await page.keyboard.press('f')
  await becomes('whether the viewer fills the screen', whole, true)
  await viewer.getByRole('button', { name: say.leave }).waitFor()
  await page.keyboard.press('f')
  await becomes('whether the viewer still fills the screen', whole, false)
}

// tells checks the details of the photo. The permanent link is made by its button.
async function tells(page, config, say, viewer, folder, username) {
  await page.keyboard.press('i')
  const details = viewer.getByRole('complementary')
  for (const text of [
    /D750/,
    '35mm f/1.8',
    '1/250 s · f/2.8 · ISO 400 · 35 mm',
    '-33.85867, 151.21500',
    say.warning,
    say.you(username),
    say.linkHint,
  ])
    await details.getByText(text).waitFor()
  const path = details.getByRole('link', { name: `${folder}/${holiday}` })
  equal('where the path leads', decodeURIComponent(await path.getAttribute('href')), `/app/files${folder}`)
  equal('faults of the details', await inspect(page), [])
  await config.shot('viewer-own-details')
  const url = await clipboard(page, () => details.getByRole('button', { name: say.makeLink }).click())
  await details.getByRole('button', { name: say.made }).waitFor()
  const stranger = await page.context().browser().newContext()
  equal('the answer to a stranger', (await stranger.request.get(url)).status(), 200)
  await stranger.close()
}

// stars stars the photo in the viewer. The star belongs to the photo, also when others are shown.
async function stars(page, config, say, viewer, loaded) {
  const inBar = viewer.locator('header').getByRole('button', { name: say.favourite, exact: true })
  const inDetails = viewer.getByRole('complementary').getByRole('button', { name: say.favourite, exact: true })
  const are = (what, pressed) =>
    becomes(
      what,
      async () => [await inBar.getAttribute('aria-pressed'), await inDetails.getAttribute('aria-pressed')],
      [pressed, pressed],
    )
  await page.keyboard.press('Alt+KeyS')
  await are('the stars', 'true')
  await config.shot('viewer-own-star')
  await page.keyboard.press('ArrowRight')
  await loaded(clear)
  await are('the stars of the next picture', 'false')
  await page.keyboard.press('ArrowLeft')
  await loaded(holiday)
  await are('the stars of the photo', 'true')
  await inBar.click()
  await are('the stars that were removed', 'false')
  const message = viewer.getByRole('alert').filter({ hasText: say.unstarred })
  await message.getByRole('button', { name: say.undo }).click()
  await are('the stars after Undo', 'true')
  await page.keyboard.press('i')
}

async function own(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const account = await enterNew(page, config)
  const photographs = await config.ask('photographs', [
    { name: holiday, width: 480, height: 320, holiday: true },
    { name: lake, width: 480, height: 320, taken: '2025:07:01 12:00:00' },
  ])
  const files = [...photographs, { name: clear, bytes: glass(480, 320).toString('base64') }]
  const folder = await createFolder(page, account, 'Viewer', files)
  await examined(page)
  await page.goto(`/app/files${folder}`)
  const viewer = page.locator('dialog.whole')
  const loaded = async (name) => {
    await viewer.getByRole('heading', { level: 2, name, exact: true }).first().waitFor()
    await until(`the picture ${name}`, () =>
      viewer
        .locator('.stage.current img.main')
        .evaluateAll((all, name) => all.some((one) => one.alt === name && one.naturalWidth === 480), name),
    )
  }
  await opens(page, config, viewer, loaded)
  await fillsScreen(page, say, viewer)
  await tells(page, config, say, viewer, folder, account.username)
  await stars(page, config, say, viewer, loaded)

  const pattern = () => viewer.locator('.stage.current .box').evaluate((box) => getComputedStyle(box).backgroundImage)
  equal('the pattern under the photo', await pattern(), 'none')
  await page.keyboard.press('ArrowRight')
  await loaded(clear)
  await becomes('whether there is a pattern', async () => (await pattern()).includes('conic-gradient'), true)
  await config.shot('viewer-own-glass')

  await page.keyboard.press('ArrowRight')
  await loaded(lake)
  await page.keyboard.press('i')
  const taken = viewer.getByRole('complementary').locator('time[datetime="2025-07-01T12:00:00.000Z"]')
  await becomes('when it was taken', async () => (await taken.textContent()).replace(/\s/g, ' '), say.taken)
  await page.keyboard.press('i')
  await page.keyboard.press('ArrowLeft')
  await loaded(clear)

  await viewer.getByRole('button', { name: say.share, exact: true }).click()
  await page.getByRole('dialog', { name: say.shareTitle }).getByRole('button', { name: say.makeShare }).click()
  const made = page.getByRole('dialog', { name: say.sharedTitle })
  await made.waitFor()
  await config.shot('viewer-own-share')
  await page.keyboard.press('Escape')
  await made.waitFor({ state: 'detached' })

  await page.keyboard.press('s')
  await loaded(lake) // by itself
  await page.keyboard.press('Escape')
  await viewer.waitFor({ state: 'detached' })
}

export const scenarios = [{ name: 'a photo in the viewer of its owner', forms: bothLanguages, run: own }]
