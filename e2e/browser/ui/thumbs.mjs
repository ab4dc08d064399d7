// Thumbnails: their size, how they fill their tiles, and that they wait for listings.
import { randomBytes } from 'node:crypto'
import { createFolder, enter } from './files.mjs'
import { once } from './forms.mjs'
import { becomes, equal, inspect, open, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { png } from './pictures.mjs'

const image = (name, width, height) => ({ name, bytes: png(width, height, 0.6).toString('base64') })

// A thumbnail has the pixels that its tile covers. Small pictures keep their size, and panoramas
// are shown whole.
async function fills(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const parent = await createFolder(page, config, 'Albums', [])
  await createFolder(page, config, 'Empty', [], parent)
  const folder = await createFolder(
    page,
    config,
    'Shapes',
    [
      image('icon.png', 48, 48),
      image('panorama.png', 1600, 200),
      image('photo.png', 1200, 800),
      image('tower.png', 200, 1000),
    ],
    parent,
  )
  // look opens the folder and compares how the pictures fill their tiles, and their sizes.
  const look = async (shown, what, want) => {
    await shown.goto(`/app/files${folder}`)
    const pictures = shown.locator('[role=grid] img')
    await until('the thumbnails', () =>
      pictures.evaluateAll((all) => all.length === 4 && all.every((one) => one.complete && one.naturalWidth > 0)),
    )
    await config.shot(what)
    const read = () =>
      pictures.evaluateAll((all) =>
        all.map((one) => [getComputedStyle(one).objectFit, new URL(one.src).searchParams.get('size')].join(' ')),
      )
    await becomes(what, read, want)
  }
  await look(page, 'thumbs-medium', ['none 320', 'contain 320', 'cover 320', 'contain 320'])
  const sharp = await open(page.context().browser(), {
    base: config.base,
    storageState: await page.context().storageState(),
    deviceScaleFactor: 2,
  })
  await look(sharp, 'thumbs-sharp', ['none 640', 'contain 640', 'cover 640', 'contain 640'])
  equal('faults of the sharp page', sharp.faults(), [])
  await sharp.context().close()
  await page.getByRole('button', { name: say.display }).click()
  await page.getByRole('menuitemradio', { name: say.list, exact: true }).click()
  await look(page, 'thumbs-list', ['cover 160', 'contain 160', 'cover 160', 'contain 160'])
  await stands(page, config, parent)
}

// The pictures of a folder stand for it on its tile. The buttons of a tile come with the pointer
// and with the focus.
async function stands(page, config, parent) {
  const say = labels[config.language]
  await page.goto(`/app/files${parent}`)
  const album = page.getByRole('gridcell', { name: /^Shapes/ })
  await until('the pictures of the folder', () =>
    album.locator('img').evaluateAll((all) => all.length === 4 && all.every((one) => one.naturalWidth > 0)),
  )
  equal(
    'the width of the tiles',
    await page.getByRole('gridcell').evaluateAll((all) => new Set(all.map((one) => one.offsetWidth)).size),
    1,
  )
  const copy = album.getByRole('button', { name: say.copyLinkOf('Shapes') })
  const opacity = () => copy.evaluate((button) => getComputedStyle(button).opacity)
  equal('the opacity of the copy button without the pointer', await opacity(), '0')
  await album.hover()
  await becomes('the opacity of the copy button below the pointer', opacity, '1')
  equal('faults of the tiles', await inspect(page), [])
  await config.shot('thumbs-folders')
  await page.mouse.move(0, 0)
  await becomes('the opacity of the copy button after the pointer has left', opacity, '0')
  await page.keyboard.press('End')
  await page.keyboard.press('Tab')
  await becomes('the focus', () => copy.evaluate((button) => button === document.activeElement), true)
  equal('the opacity of the copy button with the focus', await opacity(), '1')
  await page.keyboard.press('Enter')
  await page
    .getByRole('dialog')
    .or(page.getByRole('region', { name: say.notices }).getByRole('listitem'))
    .first()
    .waitFor()
  equal('the page', new URL(page.url()).pathname, `/app/files${parent}`)

  // a small tile shows the button below the pointer only
  const long = 'B folder with a long name, without pictures'
  const chips = await createFolder(page, config, 'Chips', [])
  await createFolder(page, config, 'A folder', [], chips)
  await createFolder(page, config, long, [], chips)
  await page.goto(`/app/files${chips}`)
  const chip = page.getByRole('gridcell', { name: /^B folder/ })
  const ofChip = chip.getByRole('button', { name: say.copyLinkOf(long) })
  await chip.waitFor()
  equal('whether the button of a small tile is there without the pointer', await ofChip.isVisible(), false)
  await chip.hover()
  await ofChip.waitFor()
  equal('faults of the small tile', await inspect(page), [])
  await config.shot('thumbs-chip')
}

// noise returns a picture whose thumbnail is large, as that of a photo.
function noise(width, height) {
  const grain = randomBytes(width * height)
  return png(width, height, 0.5, (x, y) => grain[y * width + x] / 255)
}

// On a slow line the names of a folder come before the thumbnails of the folder that was left: a
// few of these are under way at a time, and they are dropped.
async function waits(page, config) {
  const say = labels[config.language]
  await enter(page, config, '')
  const count = 12
  const photos = Array.from({ length: count }, (_, n) => ({
    name: `photo ${n}.png`,
    bytes: noise(300, 220).toString('base64'),
  }))
  const parent = await createFolder(page, config, 'Slow', [])
  const folder = await createFolder(page, config, 'Photos', photos, parent)
  await page.goto(`/app/files${parent}`)
  await until('the pictures of the folder', () =>
    page.locator('[role=grid] img').evaluateAll((all) => all.length === 4 && all.every((one) => one.naturalWidth > 0)),
  )

  let held = []
  const thumbnail = (request) => /\/thumbnail\?/.test(request.url())
  await page.route('**/thumbnail?*', (route) => held.push(route))
  const dropped = []
  page.on('requestfailed', (request) => thumbnail(request) && dropped.push(request))
  await page.getByRole('gridcell', { name: /Photos/ }).dblclick()
  await page.getByRole('gridcell', { name: /^photo 1\.png/ }).waitFor()
  await until('the first thumbnails', () => held.length >= 4)
  const underWay = held.map((route) => route.request())
  await page
    .getByRole('link', { name: say.up('Slow') })
    .or(page.getByRole('link', { name: 'Slow', exact: true }))
    .first()
    .click()
  await page.getByRole('gridcell', { name: /Photos/ }).waitFor()
  await until('the end of the loads', () => underWay.every((one) => dropped.includes(one)))
  equal('thumbnails under way at a time', underWay.length, 4)
  await page.unroute('**/thumbnail?*')

  // the same on a line of 50 KB/s
  const line = await page.context().newCDPSession(page)
  await line.send('Network.enable')
  await line.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 400,
    downloadThroughput: 50_000,
    uploadThroughput: 50_000,
  })
  const began = []
  page.on('request', (request) => thumbnail(request) && began.push(request))
  await page.getByRole('gridcell', { name: /Photos/ }).dblclick()
  await page.getByRole('gridcell', { name: /^photo 1\.png/ }).waitFor()
  await until('the first thumbnails', () => began.length >= 4)
  const from = Date.now()
  await page.getByRole('link', { name: 'Slow', exact: true }).first().click()
  await page.getByRole('gridcell', { name: /Photos/ }).waitFor()
  config.figure('a folder on a slow line', { seconds: (Date.now() - from) / 1000 })

  // the command list loads no screens that it only names
  const loaded = []
  page.on('request', (request) => request.url().endsWith('.js') && loaded.push(request))
  const start = Date.now()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('photo 7')
  const dialog = page.getByRole('dialog', { name: say.commands })
  await dialog.getByRole('option', { name: /^photo 7\.png/ }).waitFor()
  config.figure('a name in the command list on a slow line', { seconds: (Date.now() - start) / 1000 })
  await page.waitForLoadState('networkidle')
  equal('files for the command list', loaded.length <= 8, true)
}

// Pictures that failed while the server was away, busy or at fault are loaded again without a
// reload. A picture that does not exist is asked for once.
async function again(page, config) {
  await enter(page, config, '')
  const photos = ['away', 'busy', 'fault', 'none'].map((name) => image(`${name}.png`, 300, 200))
  const folder = await createFolder(page, config, 'Again', photos)
  const kinds = [404, 502, 429, undefined]
  const addresses = []
  const asked = [] // for each request, the index of its address
  const count = (index) => asked.filter((one) => one === index).length
  let back = false
  await page.route('**/thumbnail?*', async (route) => {
    const address = route.request().url()
    if (!addresses.includes(address)) addresses.push(address)
    const index = addresses.indexOf(address)
    asked.push(index)
    if (back && index > 0) return route.continue()
    // The page asks for no reason while the server is busy or away, so these answers come last.
    await until('the answers before', () => [0, 1, 2].slice(0, index).every((n) => count(n) >= 2))
    return kinds[index] ? route.fulfill({ status: kinds[index], headers: { 'Retry-After': '1' } }) : route.abort()
  })
  await page.goto(`/app/files${folder}`)
  // the picture, and the reason why there is none
  await until('the failures', () => [0, 1, 2, 3].every((n) => count(n) >= 2))
  back = true
  const shown = () =>
    page.locator('[role=grid] img').evaluateAll((all) => all.filter((one) => one.naturalWidth > 0).length)
  await becomes('the number of shown pictures', shown, 3)
  equal('requests of a picture that does not exist', count(0), 2)
  equal('faults', page.faults().filter((one) => !/^502 .*thumbnail/.test(one)), [])
}

export const scenarios = [
  { name: 'loads pictures again that failed', forms: once, run: again },
  { name: 'fills tiles with thumbnails', forms: once, run: fills },
  { name: 'shows names before thumbnails', forms: once, run: waits },
]
