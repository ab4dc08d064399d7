// Uploads whose names are taken: "I upload the corrected files again and replace all of them."
import { createFolder } from './files.mjs'
import { bothLanguages } from './forms.mjs'
import { becomes, equal, give, inspect } from './harness.mjs'
import { labels } from './labels.mjs'
import { enterNew } from './photos.mjs'
import { api, idOf } from './stranger.mjs'

const texts = {
  'en-US': {
    replace: 'Replace',
    all: 'For all 3 files of this upload whose names exist',
    both: 'Keep both',
    folder: "A folder has this name, and a file can't replace a folder.",
    there: (n) => (n === 1 ? '1 file already there' : `${n} files already there`),
  },
  'zh-CN': {
    replace: '替换',
    all: '对本次上传的全部 3 个重名文件这样处理',
    both: '两个都保留',
    folder: '已有同名的文件夹，文件不能替换文件夹。',
    there: (n) => `${n} 个相同文件已存在，未重复上传`,
  },
}

// The answer applies to all files of the upload, but the page asks again if a folder has the name.
async function replacesAll(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const own = await enterNew(page, config)
  const names = ['a.txt', 'b.txt']
  const files = names.map((name) => ({ name, bytes: btoa('before') }))
  const folder = await createFolder(page, own, 'Corrected', files)
  await createFolder(page, own, 'c.txt', [], folder)
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^b\.txt/ }).waitFor()
  const sessions = []
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/upload-session')) sessions.push(request.postDataJSON())
  })
  const corrected = [...names, 'c.txt'].map((name) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(`${name} afterwards`),
  }))
  await give(page, () => page.keyboard.press('Alt+u'), corrected)
  const sheet = page.getByRole('dialog', { name: say.conflict })
  const replace = sheet.getByRole('button', { name: say.replace, exact: true })
  await sheet.getByRole('checkbox', { name: say.all }).check()
  await replace.click()
  await sheet.getByText(say.folder).waitFor()
  await becomes('the buttons that replace', () => replace.count(), 0)
  equal('faults of the sheet', await inspect(page), [])
  await config.shot('conflict-folder')
  await sheet.getByRole('button', { name: say.both }).click()
  await sheet.waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: say.uploaded(3) }).waitFor()
  await page.getByRole('gridcell', { name: /^c \(1\)\.txt/ }).waitFor()
  for (const name of names) {
    const { file } = await api(page, 'GET', `/api/files/${await idOf(page, `${folder}/${name}`)}`)
    equal(`the size of ${name}`, file.size, `${name} afterwards`.length)
  }
  equal('the requests for the name of the folder', sessions.filter(({ fileName }) => fileName === 'c.txt').length, 2)
}

// "I upload the same files again, and the tray tells me that they are there already." The page
// asks about a file that has other content of the same size.
async function skipsSame(page, config) {
  const say = { ...labels[config.language], ...texts[config.language] }
  const own = await enterNew(page, config)
  const file = (name, content) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) })
  const before = ['a.txt', 'b.txt'].map((name) => ({ name, bytes: btoa('before') }))
  const folder = await createFolder(page, own, 'Again', before)
  await page.goto(`/app/files${folder}`)
  await page.getByRole('gridcell', { name: /^b\.txt/ }).waitFor()
  const upload = (...files) => give(page, () => page.keyboard.press('Alt+u'), files)
  const question = page.getByRole('dialog', { name: say.conflict })

  await upload(file('a.txt', 'before'), file('b.txt', 'before'))
  await page.getByRole('heading', { name: say.there(2) }).waitFor()
  equal('the questions about equal files', await question.count(), 0)

  await upload(file('a.txt', 'before'), file('b.txt', 'behind'), file('c.txt', 'new'))
  await question.getByRole('button', { name: say.replace, exact: true }).click()
  await page.getByRole('heading', { name: say.uploaded(2) }).waitFor()
  await page.getByText(say.there(3), { exact: true }).waitFor() // two of them are from the first upload
  equal('faults of the tray', await inspect(page), [])
  await config.shot('upload-same')
  await page.getByRole('gridcell', { name: /^c\.txt/ }).waitFor()
  equal('the entries', await page.getByRole('grid').getByRole('link').count(), 3)
}

export const scenarios = [
  { name: 'replaces all files of an upload', forms: bothLanguages, run: replacesAll },
  { name: 'skips files that are there already', forms: bothLanguages, run: skipsSame },
]
