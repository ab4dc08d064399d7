// Kinds of files on the page of a share: what would run a script elsewhere, Markdown, drawings, a
// video and a PDF.
import { createFolder, enter } from './files.mjs'
import { once } from './forms.mjs'
import { becomes, equal, until } from './harness.mjs'
import { film, paper } from './media.mjs'
import { done, look, pictures, saved, share, stranger } from './stranger.mjs'

const base64 = (text) => Buffer.from(text).toString('base64')
const odd = 9 // files in /public/odd
const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 30" onload="alert(21)">
<script>alert(22)</script><image href="x" onerror="alert(23)"/>
<foreignObject width="40" height="30"><body xmlns="http://www.w3.org/1999/xhtml" onload="alert(24)"/></foreignObject>
<path fill="#c2255c" d="M0 0h40v30z"/></svg>`
const letter = `<h1 align="center">Read me</h1>

# A letter

<script>alert(31)</script><img src="x" onerror="alert(32)">
[one](javascript:alert(33)) [two](data:text/html,<script>alert(34)</script>)
![three](javascript:alert(35)) ![four](x"onerror="alert(36)) [the site](/api/auth/logout)
[abroad](https://example.org/)
`

// suspect notes the scripts of a page that run: each shows an alert.
function suspect(guest) {
  const alerts = []
  guest.on('dialog', (dialog) => {
    alerts.push(dialog.message())
    void dialog.dismiss()
  })
  return alerts
}

const drawn = (image) => until('the drawing', () => image.evaluateAll((all) => all.some((one) => one.naturalWidth > 0)))

// What a letter shows: its links, and elements that it must not have.
const contents = (guest) =>
  guest.evaluate(() => {
    const article = document.querySelector('article.markdown')
    return {
      links: [...article.querySelectorAll('a')].map((link) => link.getAttribute('href')),
      others: article.querySelectorAll('script, img, iframe, [onerror], [onload]').length,
    }
  })

async function runsNothing(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Hostile', [
    { name: 'drawing.svg', bytes: base64(drawing) },
    { name: 'letter.md', bytes: base64(letter) },
  ])
  const guest = await stranger(page, config)
  const alerts = suspect(guest)
  await guest.goto(`/share/${await share(page, folder)}`)
  await drawn(guest.getByRole('main').locator('img'))
  await look(guest, config, 'share-drawings')
  await guest.getByRole('link', { name: 'drawing.svg' }).click()
  const viewer = guest.locator('dialog[open]')
  await drawn(viewer.getByRole('img', { name: 'drawing.svg' }))
  await look(guest, config, 'share-drawing')
  await guest.keyboard.press('ArrowRight')
  await viewer.getByRole('heading', { name: 'A letter' }).waitFor()
  equal('the letter', await contents(guest), { links: ['https://example.org/'], others: 0 })
  await look(guest, config, 'share-markdown')

  // each alone
  await guest.goto(`/share/${await share(page, `${folder}/letter.md`)}`)
  await guest.getByRole('heading', { name: 'A letter' }).waitFor()
  await guest.goto(`/share/${await share(page, `${folder}/drawing.svg`)}`)
  await drawn(guest.getByRole('img', { name: 'drawing.svg' }))

  // the files of all other scenarios, with their hostile names
  await guest.goto(`/share/${await share(page, '/public/odd')}`)
  await guest.getByRole('region', { name: 'Pictures' }).getByRole('link').first().click()
  for (let n = 1; n <= odd; n++) {
    if (n > 1) await viewer.getByRole('button', { name: 'Next', exact: true }).click()
    await viewer.getByText(`${n} of ${odd}`, { exact: true }).waitFor()
    await guest.waitForFunction(() =>
      [...document.querySelectorAll('dialog[open] :is(img, article, pre, .card)')].some((one) =>
        one.checkVisibility({ visibilityProperty: true }),
      ),
    )
  }
  equal('the scripts that ran', alerts, [])
  await done(guest)
}

async function shows(page, config) {
  await enter(page, config, '')
  const folder = await createFolder(page, config, 'Media', [film, paper])
  const guest = await stranger(page, config)
  const download = async (file) => {
    const { name, bytes } = await saved(guest, () =>
      guest.getByRole('banner').getByRole('button', { name: 'Download' }).click(),
    )
    equal('the download', [name, bytes.toString('base64') === file.bytes], [file.name, true])
  }

  await guest.goto(`/share/${await share(page, `${folder}/${film.name}`)}`)
  await guest.getByLabel(film.name).waitFor()
  await guest.waitForFunction(() => document.querySelector('video')?.videoWidth === 64)
  await guest.evaluate(() => {
    const video = document.querySelector('video')
    video.muted = true
    return video.play()
  })
  await guest.waitForFunction(() => document.querySelector('video').currentTime > 0)
  await guest.getByLabel('Speed').selectOption('1.5×')
  equal('the speed', await guest.evaluate(() => document.querySelector('video').playbackRate), 1.5)
  await look(guest, config, 'share-video')
  await download(film)

  await guest.goto(`/share/${await share(page, `${folder}/${paper.name}`)}`)
  const inline = guest.getByTitle(`Content of ${paper.name}`)
  // the headless shell of Chromium has no viewer of PDF
  const other = guest.getByRole('link', { name: 'Open in a new tab' })
  await inline.or(other).waitFor()
  const address = await guest.evaluate(
    () => document.querySelector('main iframe')?.src ?? document.querySelector('main a[target]').href,
  )
  const { 'content-type': type, 'content-disposition': shown } = (await guest.request.get(address)).headers()
  equal('how the browser gets it', [type, /^inline/.test(shown)], ['application/pdf', true])
  await look(guest, config, 'share-pdf')
  await download(paper)
  await done(guest)
}

// Pictures beside a Markdown file, and in a folder below it, are shown; one outside of the share is
// not asked for.
async function showsBeside(page, config) {
  await enter(page, config, '')
  const story = `# The lake

![beside](lake%201.png) ![below](<below/lake 2.png>) ![drawn](./drawing.svg)
![outside](../lake%203.png) ![outside too](/home/${config.username}/Beside/lake%203.png) ![missing](none.png)
![text](story.md) [a file](lake%201.png) ![abroad](https://example.org/a.png)
`
  const outside = await createFolder(page, config, 'Beside', pictures.slice(2, 3))
  const inside = await createFolder(
    page,
    config,
    'Story',
    [
      pictures[0],
      { name: 'drawing.svg', bytes: base64(drawing) },
      { name: 'story.md', bytes: base64(story) },
    ],
    outside,
  )
  await createFolder(page, config, 'below', pictures.slice(1, 2), inside)
  const id = await share(page, inside)
  const guest = await stranger(page, config)
  const alerts = suspect(guest)
  await guest.goto(`/share/${id}`)
  await guest.getByRole('link', { name: /^story\.md/ }).click()
  const article = guest.locator('dialog[open] article')
  const shown = () =>
    article
      .locator('img')
      .evaluateAll((all) => all.map((one) => [one.alt, one.complete && one.naturalWidth > 0]))
  await becomes('the pictures', shown, [
    ['beside', true],
    ['below', true],
    ['drawn', true],
  ])
  const addresses = await article.locator('img').evaluateAll((all) => all.map((one) => one.getAttribute('src')))
  const begin = `/api/shares/${id}/`
  equal(
    'the addresses',
    addresses.map((one) => one.replace(/(file|changed)=[^&]+&/g, '').replace(begin, '')),
    ['thumbnail?size=1280', 'thumbnail?size=1280', 'preview?sandbox=true'],
  )
  const words = await article.innerText()
  for (const one of ['outside', 'outside too', 'missing', 'text', 'a file'])
    equal(`whether the words "${one}" are shown`, words.includes(one), true)
  await becomes('the links', () => article.getByRole('link').evaluateAll((all) => all.map((one) => one.href)), [
    'https://example.org/a.png',
  ])
  await look(guest, config, 'share-markdown-pictures')

  // alone, the file has nothing beside it
  await guest.goto(`/share/${await share(page, `${inside}/story.md`)}`)
  await guest.getByRole('heading', { name: 'The lake' }).waitFor()
  await becomes('pictures', () => guest.locator('article img').count(), 0)
  equal('the scripts that ran', alerts, [])
  await done(guest)
}

export const scenarios = [
  { name: 'a shared Markdown file shows the pictures beside it', forms: once, run: showsBeside },
  { name: 'a share runs no script of its files', forms: once, run: runsNothing },
  { name: 'a share shows a video and a PDF', forms: once, run: shows },
]
