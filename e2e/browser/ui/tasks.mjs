// Five everyday tasks, by visible labels, as a user who knows the keys does them. For each of them
// the test counts clicks, keys and seconds, from the page that is open at first to the outcome.
import { clipboard } from './copying.mjs'
import { createFolder, enter } from './files.mjs'
import { once } from './forms.mjs'
import { becomes, equal, give, until } from './harness.mjs'
import { examined } from './photos.mjs'
import { labels } from './labels.mjs'
import { png } from './pictures.mjs'

const say = labels['en-US']
const picture = (name, hue) => ({
  name,
  mimeType: 'image/png',
  buffer: png(120, 80, hue),
})
const numbered = (count, name) => Array.from({ length: count }, (_, n) => name(String(n + 1).padStart(2, '0')))
const main = (page) => page.getByRole('main')
const link = (page, name) => page.getByRole('link', { name: new RegExp(`^${name.replace('.', '\\.')}`) })
const button = (scope, name) => scope.getByRole('button', { name, exact: true })

// Hand clicks and types as a user does, and counts the clicks and the keys. A text counts as one
// key.
class Hand {
  clicks = 0
  keys = 0
  #began = Date.now()

  constructor(page) {
    this.page = page
  }

  async click(element) {
    this.clicks++
    await element.click()
  }

  async open(element) {
    this.clicks += 2
    await element.dblclick()
  }

  async press(key) {
    this.keys++
    await this.page.keyboard.press(key)
  }

  async type(text) {
    this.keys++
    await this.page.keyboard.type(text)
  }

  get seconds() {
    return (Date.now() - this.#began) / 1000
  }
}

// count does a task and reports its figures. It fails when the task takes more clicks than it may.
async function count(page, config, what, most, task) {
  const hand = new Hand(page)
  await task(hand)
  const { clicks, keys, seconds } = hand
  config.figure(what, { clicks, keys, seconds })
  if (clicks > most) throw new Error(`${what}: ${clicks} clicks, want ${most} at most`)
}

// stand creates a folder with files, opens its page, and returns its path.
async function stand(page, config, folder, files = []) {
  const path = await createFolder(page, config, folder, files)
  await page.goto(`/app/files${path}`)
  await (files.length ? link(page, files[0].name) : page.getByText(say.emptyFolder)).waitFor()
  return path
}

const base64 = ({ name, buffer }) => ({
  name,
  bytes: buffer.toString('base64'),
})

// "I upload 20 pictures and paste them into my post": each address opens for a stranger.
async function uploads(page, config) {
  await stand(page, config, 'Post')
  const pictures = numbered(20, (n) => picture(`post ${n}.png`, n / 20))
  let text = ''
  await count(page, config, 'upload 20 pictures and copy their public Markdown', 4, async (hand) => {
    await give(page, () => hand.click(button(main(page), say.upload).first()), pictures)
    await page.getByRole('heading', { name: say.uploaded(20) }).waitFor()
    text = await clipboard(page, async () => {
      await hand.click(button(page, say.copyAllLinks))
      const question = page.getByRole('dialog', { name: say.linkQuestion })
      await hand.click(question.getByRole('radio', { name: 'Markdown' }))
      await hand.click(button(question, say.copyOnly))
    })
  })
  const lines = text.split('\n')
  equal('the lines', lines.length, 20)
  for (const line of lines) {
    const [, name, url] = /^!\[(.*)\]\((.*)\)$/.exec(line)
    const { buffer } = pictures.find((one) => one.name === name)
    const answer = await fetch(url)
    equal(`the bytes behind ${name}`, buffer.equals(Buffer.from(await answer.arrayBuffer())), true)
  }
}

// "I look for a photo of last summer."
async function finds(page, config) {
  const album = [
    ...numbered(12, (n) => ({
      name: `autumn ${n}.jpg`,
      taken: `2026:10:${n} 12:00:00`,
    })),
    ...numbered(12, (n) => ({
      name: `summer ${n}.jpg`,
      taken: `2026:07:${n} 12:00:00`,
    })),
    ...numbered(24, (n) => ({
      name: `spring ${n}.jpg`,
      taken: `2026:04:${n} 12:00:00`,
    })),
  ].map((one) => ({ ...one, width: 480, height: 320 }))
  await stand(page, config, 'Camera', await config.ask('photographs', album))
  await examined(page)
  await count(page, config, "find a photo of last summer's", 4, async (hand) => {
    await hand.click(page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: 'Photos' }))
    const slider = page.getByRole('slider', { name: 'Date' })
    const { x, y, width } = await slider.boundingBox()
    const track = await slider.locator('..').boundingBox()
    hand.clicks++ // a drag
    await page.mouse.move(x + width / 2, y + 4)
    await page.mouse.down()
    const month = () => slider.getAttribute('aria-valuetext')
    for (let at = y; (await month()) !== 'July 2026' && at < track.y + track.height; at += 4)
      await page.mouse.move(x + width / 2, at)
    await page.mouse.up()
    await hand.open(link(page, 'summer 07.jpg'))
    await page.getByRole('dialog').getByText('summer 07.jpg').first().waitFor()
  })
  await page.keyboard.press('Escape')
}

// "The camera's names say nothing": ten files get other names, by keys.
async function renames(page, config) {
  const before = numbered(10, (n) => picture(`DSC ${n}.png`, n / 10))
  await stand(page, config, 'Names', before.map(base64))
  await count(page, config, 'rename 10 files', 1, async (hand) => {
    await hand.click(link(page, before[0].name))
    for (const n of numbered(10, (n) => n)) {
      await hand.press('F2')
      await page.getByLabel(say.newName).waitFor()
      await hand.type(`Alps ${n}`) // before DSC, so that a refresh leaves each file in its place
      await hand.press('Enter')
      await link(page, `Alps ${n}.png`).waitFor()
      await becomes('the renamed file', () => page.getByLabel(say.newName).count(), 0)
      await hand.press('ArrowRight')
    }
  })
  equal('files with the old names', await link(page, 'DSC').count(), 0)
}

// "These 50 belong two folders up."
async function moves(page, config) {
  const parent = await createFolder(page, config, 'Trip', [])
  const path = await createFolder(page, config, 'Day', [], parent)
  await createFolder(page, config, 'Raw', numbered(50, (n) => picture(`raw ${n}.png`, n / 50)).map(base64), path)
  await page.goto(`/app/files${path}/Raw`)
  await link(page, 'raw 01.png').waitFor()
  await count(page, config, 'move 50 files two levels up', 2, async (hand) => {
    await hand.click(link(page, 'raw 01.png'))
    await hand.press('Control+a')
    await hand.press('Control+x')
    await hand.click(page.getByRole('navigation', { name: say.path }).getByRole('link', { name: 'Trip', exact: true }))
    await link(page, 'Day').waitFor()
    await hand.press('Control+v')
    await link(page, 'raw 01.png').waitFor()
    await page.getByText('50 items moved', { exact: false }).first().waitFor()
  })
  equal(
    'the rest',
    await page.evaluate(async (path) => {
      const answer = await fetch(`/api/files?path=${encodeURIComponent(path)}`)
      return (await answer.json()).data.pagination.total
    }, `${path}/Raw`),
    0,
  )
}

// "The picture in my post has a typo": another file takes its place behind the same link.
async function replaces(page, config) {
  const [old, fresh] = [picture('chart.png', 0.1), picture('chart.png', 0.6)]
  await stand(page, config, 'Charts', [base64(old)])
  const url = await clipboard(page, async () => {
    await link(page, old.name).click()
    await page.keyboard.press('Control+c')
  })
  const [, address] = /\((.*)\)$/.exec(url)
  await count(page, config, 'replace a picture behind its link', 2, async (hand) => {
    await give(page, () => hand.click(button(main(page), say.upload).first()), [fresh])
    await hand.click(button(page.getByRole('dialog', { name: say.conflict }), 'Replace'))
    await until('the new bytes behind the link', async () =>
      fresh.buffer.equals(Buffer.from(await (await fetch(address)).arrayBuffer())),
    )
  })
}

async function all(page, config) {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await enter(page, config, '')
  for (const task of [uploads, finds, renames, moves, replaces]) await task(page, config)
}

export const scenarios = [{ name: 'five tasks of every day', forms: once, run: all }]
