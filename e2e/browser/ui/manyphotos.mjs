// Photos with a hundred thousand pictures that the server stores: "I have the photos of twenty
// years; Photos opens at once, and I scroll through them without a pause." Only full runs contain
// this scenario, because the server needs minutes to copy the pictures.
import { createFolder } from './files.mjs'
import { once } from './forms.mjs'
import { jumpToMiddle, scroll } from './frames.mjs'
import { equal, until } from './harness.mjs'
import { enterNew, examined, shapes, two } from './photos.mjs'
import { api } from './stranger.mjs'

const onlyFull = (full) => (full ? once() : [])

// One picture for each of a hundred months.
const photographs = Array.from({ length: 100 }, (_, nth) => {
  const [width, height] = shapes[nth % shapes.length]
  const [year, month] = [2018 + Math.floor(nth / 12), two((nth % 12) + 1)]
  return { name: `${year}-${month}.jpg`, width: width * 2, height: height * 2, taken: `${year}:${month}:10 12:00:00` }
})

// tenfold moves a folder and nine copies of it into a new folder of home, and returns the new
// folder.
async function tenfold(page, home, folder, name) {
  const { file } = await api(page, 'POST', '/api/files/folder', { path: home, name })
  const targetPath = `${file.path}/${file.name}`
  for (let n = 1; n < 10; n++) {
    const newName = `${folder.name} ${n}`
    const { jobId } = await api(page, 'POST', `/api/files/${folder.id}/copy`, { targetPath, newName })
    const status = async () => (await api(page, 'GET', `/api/files/jobs/${jobId}`)).job.status
    await until(`the copy ${newName}`, async () => (await status()) === 'completed', 120_000)
  }
  await api(page, 'POST', `/api/files/${folder.id}/move`, { targetPath })
  return file
}

async function scrolls(page, config) {
  const own = await enterNew(page, config)
  const home = `/home/${own.username}`
  await createFolder(page, own, 'hundred', await config.ask('photographs', photographs))
  await examined(page)
  const { items } = await api(page, 'GET', `/api/files?path=${home}`)
  let folder = items.find(({ name }) => name === 'hundred')
  for (const name of ['thousand', 'ten thousand', 'hundred thousand']) folder = await tenfold(page, home, folder, name)
  const { months } = await api(page, 'GET', '/api/files/timeline')
  equal(
    'the number of pictures',
    months.reduce((sum, { count }) => sum + count, 0),
    100_000,
  )
  const first = await page.evaluate(async () => {
    const begun = performance.now()
    await (await fetch('/api/files/timeline/entries?limit=200')).json()
    return performance.now() - begun
  })
  const begun = Date.now()
  await page.goto('/app/photos')
  await page.waitForFunction(() => {
    const shown = [...document.querySelectorAll('[role=gridcell] img')]
    return shown.length > 8 && shown.every(({ complete, naturalWidth }) => complete && naturalWidth > 0)
  })
  const opened = Date.now() - begun
  const { most, ...costs } = await scroll(page, '[role=gridcell]')
  equal('whether few pictures are in the document', most > 20 && most <= 150, true)
  const jump = await jumpToMiddle(page, '[role=gridcell] a')
  equal('whether the middle was reached', jump < 20_000, true)
  await until(
    'the pictures in the middle',
    () =>
      page.evaluate(() =>
        [...document.querySelectorAll('[role=gridcell] img')].every(({ naturalWidth }) => naturalWidth > 0),
      ),
    20_000,
  )
  config.figure('100,000 stored photos', { ...costs, most, first, opened, jump })
  await config.shot('photos-stored')
}

export const scenarios = [{ name: 'scrolls a hundred thousand stored photos', forms: onlyFull, run: scrolls }]
