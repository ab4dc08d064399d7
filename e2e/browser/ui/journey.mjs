// A first visit by visible labels alone: upload of a folder of pictures, a Markdown link to one of
// them, a rename, a move, and a key with which PicGo sends a picture. The scenario enters only the
// first address.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bothLanguages } from './forms.mjs'
import { equal, inspect } from './harness.mjs'
import { makeKey } from './keys.mjs'
import { labels, signIn } from './labels.mjs'
import { album } from './pictures.mjs'

const count = 50

async function journey(page, config) {
  const say = labels[config.language]
  const expectNoFaults = async (what) => {
    equal(`faults of ${what}`, await inspect(page), [])
    await config.shot(`journey-${what}`)
  }
  const dir = await mkdtemp(join(tmpdir(), 'larder-album-'))
  const pictures = await album(dir, 'Trip', count)
  // the folder after the sign-in
  const folder = config.opens ? `/${config.opens}` : `/home/${config.username}`
  const begun = Date.now()
  const figures = {}
  // step records the seconds of a step, including the axe checks of its screens.
  const step = async (name, run) => {
    const from = Date.now()
    await run()
    figures[name] = (Date.now() - from) / 1000
  }

  await step('sign in', async () => {
    await page.goto('/')
    await signIn(page, config)
    if (config.opens) {
      // a new site begins with its first steps (firstrun.mjs)
      await page.getByRole('button', { name: say.setUpLater }).click() 
      await page.getByRole('link', { name: say.homes, exact: true }).dblclick()
    }
    await page.getByText(say.emptyFolder).waitFor()
    await expectNoFaults('empty')
  })

  await step('upload', async () => {
    await page.getByRole('button', { name: say.moreUploads }).click()
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('menuitem', { name: say.uploadFolder }).click(),
    ])
    await chooser.setFiles(pictures)
    await page.getByRole('heading', { name: say.uploaded(count) }).waitFor({ timeout: 60_000 })
    await expectNoFaults('uploaded')
    await page.getByRole('link', { name: 'Trip', exact: true }).dblclick()
    await page.getByText(say.items(count)).first().waitFor()
    await expectNoFaults('album')
  })

  await step('link', async () => {
    await page.getByRole('link', { name: /photo-01\.png/ }).click()
    await page.getByRole('button', { name: say.link, exact: true }).click()
    const panel = page.getByRole('dialog', { name: say.link })
    await panel.getByRole('button', { name: say.makePermanent }).click()
    await panel.getByRole('tab', { name: 'Markdown' }).click()
    const text = await panel.getByLabel(say.linkText).inputValue()
    equal(
      'the Markdown link',
      text.replace(/\/[A-Za-z0-9]{22}\.png\)$/, '/ID.png)'),
      `![photo-01.png](${config.base}/api/i/ID.png)`,
    )
    await expectNoFaults('link')
    await panel.getByRole('button', { name: say.close, exact: true }).click()
  })

  const renamed = page.getByRole('link', { name: `harbour ${config.language}.png` })
  await step('rename', async () => {
    await page.getByRole('button', { name: say.more, exact: true }).click()
    await page.getByRole('menuitem', { name: say.rename }).click()
    await page.getByLabel(say.newName).fill(`harbour ${config.language}.png`)
    await page.keyboard.press('Enter')
    await renamed.waitFor()
  })

  await step('move', async () => {
    await renamed.click()
    await page.getByRole('button', { name: say.move, exact: true }).click()
    const target = page.getByRole('dialog', { name: say.moveTitle })
    await target.getByRole('treeitem', { name: say.publicFolder }).click()
    await expectNoFaults('move')
    await target.getByRole('button', { name: say.moveHere }).click()
    await target.waitFor({ state: 'detached' })
    await page
      .getByText(say.items(count - 1))
      .first()
      .waitFor()
    await page.getByRole('navigation', { name: say.path }).getByRole('link', { name: say.files }).click()
    await page.getByRole('link', { name: say.publicFolder, exact: true }).dblclick()
    await renamed.waitFor()
  })

  await step('key', async () => {
    await page.getByRole('navigation', { name: say.nav, exact: true }).getByRole('link', { name: say.keys }).click()
    await makeKey(page, config)
  })

  config.figure(`a first visit, ${config.language}, seconds`, { ...figures, whole: (Date.now() - begun) / 1000 })
  await rm(dir, { recursive: true })
}

export const scenarios = [{ name: 'a first visit', forms: bothLanguages, run: journey }]
