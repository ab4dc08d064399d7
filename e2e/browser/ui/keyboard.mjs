// Everything by the keyboard alone: no pointer, an element always has the focus, and panels restore
// the focus when they close.
import { once } from './forms.mjs'
import { createFolder } from './files.mjs'
import { equal, until } from './harness.mjs'
import { labels } from './labels.mjs'
import { png } from './pictures.mjs'

const say = labels['en-US']

// Keys sends key presses to a page.
export class Keys {
  constructor(page, config, folder) {
    Object.assign(this, { page, config, folder })
  }

  // focus returns the accessible name of the focused element, two frames later, "" for none.
  // `last` is the one before.
  async focus() {
    return (this.last = await this.page.evaluate(async () => {
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      const at = document.activeElement
      if (at === document.body) return ''
      if (at.matches('main')) return at.id
      const by = at.getAttribute('aria-labelledby')
      return (
        (
          at.getAttribute('aria-label') ??
          (by && document.getElementById(by)?.textContent) ??
          at.labels?.[0]?.textContent ??
          at.textContent
        ).trim() ||
        at.id ||
        at.tagName
      )
    }))
  }

  // press presses keys one after the other and returns the focused element. It fails if a key
  // leaves no element focused.
  async press(...keys) {
    for (const key of keys) {
      const before = this.last
      await this.page.keyboard.press(key)
      await until(`a focus after ${key} (before it: ${before})`, async () => (await this.focus()) !== '')
    }
    return this.last
  }

  // type replaces the content of the focused field.
  async type(text) {
    await this.press('Control+a')
    await this.page.keyboard.type(text)
  }

  // at waits until the focused element's name begins with a text.
  async at(name) {
    let is = ''
    await until(`the focus on ${name}`, async () => (is = await this.focus()).startsWith(name)).catch((error) => {
      throw new Error(`${error.message}; it is on ${is || 'nothing'}`)
    })
  }

  // to presses a key until the focused element's name begins with a text.
  async to(name, key = 'Tab') {
    const passed = []
    for (let is = await this.focus(); !is.startsWith(name); is = await this.press(key)) {
      if (passed.push(is) > 70) throw new Error(`no ${name} among ${[...new Set(passed)].join(' | ')}`)
    }
  }

  // entry moves the focus to an entry of the folder.
  async entry(name) {
    await this.press('Home')
    await this.to(name, 'ArrowRight')
  }

  // menu runs an action from the menu of the entry.
  async menu(action) {
    await this.press('Shift+F10')
    await this.to(action, 'ArrowDown')
    await this.press('Enter')
  }

  // closes opens a dialog by its button, closes it by Escape, and expects the focus on the button.
  async closes(button, dialog) {
    await this.to(button)
    await this.press('Enter')
    await dialog.waitFor()
    await this.press('Escape')
    await this.at(button)
  }

  // give opens a file chooser by Enter, and gives it files. The browser must know before the key
  // that the test answers the chooser; a round trip later, it does.
  async give(files) {
    const asked = this.page.waitForEvent('filechooser')
    await this.focus()
    const [chooser] = await Promise.all([asked, this.press('Enter')])
    await chooser.setFiles(files)
  }

  // open loads the page of a folder.
  async open(folder = this.folder) {
    await this.page.goto(`/app/files${folder}`)
    await this.page.getByRole('grid').waitFor()
  }

  // inner selects the folder Inner in the tree of a dialog.
  async inner(title) {
    await this.dialog(title).getByRole('treeitem', { name: 'Keyboard' }).waitFor()
    await this.to('Keyboard')
    await this.press('ArrowRight')
    await this.dialog(title).getByRole('treeitem', { name: 'Inner' }).waitFor()
    await this.to('Inner', 'ArrowDown')
  }

  shows = (what) => this.page.getByText(what).first().waitFor()
  dialog = (name) => this.page.getByRole('dialog', { name })
  closed = () => this.page.getByRole('dialog').waitFor({ state: 'detached' })
}

const scripts = {
  async 'skip link'(k) {
    await k.press('Tab')
    await k.at(say.skip)
    await k.press('Enter')
    await k.at('content')
  },
  async 'upload by the button'(k) {
    await k.to(say.upload)
    await k.give({ name: 'zeal.txt', mimeType: 'text/plain', buffer: Buffer.from('by a key') })
    await k.page.getByRole('heading', { name: say.uploaded(1) }).waitFor()
    await k.at(say.upload)
    await k.to(say.clearList)
    await k.press('Enter')
  },
  async 'new folder'(k) {
    await k.to(say.newFolder)
    await k.press('Enter')
    await k.at(say.folderName)
    await k.press('Escape')
    await k.at(say.newFolder)
    await k.press('Enter')
    await k.type('Made')
    await k.press('Enter')
    await k.at('Made')
  },
  async rename(k) {
    await k.entry('beta.txt')
    await k.press('F2')
    await k.at(say.newName)
    await k.press('Escape')
    await k.at('beta.txt')
    await k.press('F2')
    await k.page.keyboard.type('better')
    await k.press('Enter')
    await k.at('better.txt')
  },
  async 'a range'(k) {
    await k.press('Home', 'Shift+ArrowRight', 'Shift+ArrowDown')
    await k.press('End', 'Shift+ArrowLeft', 'Shift+ArrowLeft')
    await k.shows('3 selected')
  },
  async 'one by one'(k) {
    await k.press('Home', 'Control+ArrowRight', 'Control+Space')
    await k.press('Control+ArrowDown', 'Control+Space')
    await k.shows('3 selected')
    await k.press('Control+Space')
    await k.shows('2 selected')
  },
  async 'all and none'(k) {
    await k.press('Home', 'Control+a')
    await k.shows(/^\d\d selected/)
    await k.press('Escape')
    await k.page.getByText(/ selected$/).waitFor({ state: 'detached' })
  },
  async delete(k) {
    await k.entry('gone.txt')
    await k.press('Shift+Delete')
    await k.at(say.cancel)
    await k.press('Enter')
    await k.closed()
    await k.at('gone.txt')
    await k.press('Shift+Delete')
    await k.at(say.cancel)
    await k.to(say.delete)
    await k.press('Enter')
    await k.closed()
    await k.page.getByRole('link', { name: 'gone.txt' }).waitFor({ state: 'detached' })
    await k.press('ArrowRight')
  },
  async 'move by the tree'(k) {
    await k.entry('moved.txt')
    await k.menu(say.moveTo)
    await k.inner(say.moveTitle)
    await k.to(say.moveHere)
    await k.press('Enter')
    await k.closed()
    await k.page.getByRole('link', { name: 'moved.txt' }).waitFor({ state: 'detached' })
    await k.press('ArrowRight')
  },
  async copy(k) {
    await k.entry('alpha.txt')
    await k.menu(say.copyTo)
    await k.inner(say.copyTitle)
    await k.to(say.copyHere)
    await k.press('Enter')
    await k.closed()
    await k.at('alpha.txt')
    await k.open(`${k.folder}/Inner`)
    await k.entry('alpha.txt')
  },
  async links(k) {
    await k.entry('alpha.txt')
    await k.menu(say.links)
    await k.dialog(say.link).waitFor()
    await k.to(say.direct)
    await k.press('ArrowRight', 'ArrowRight')
    await k.at('Markdown')
    await k.press('Home', 'End')
    await k.at('BBCode')
    await k.to(say.qr)
    await k.press('Enter')
    await k.dialog(say.link).getByRole('img', { name: say.qrShown }).waitFor()
    await k.press('Escape')
    await k.closed()
    await k.at('alpha.txt')
  },
  async 'copy links'(k) {
    await k.entry('alpha.txt')
    await k.press('Shift+ArrowRight', 'Control+c')
    await k.dialog(say.linkQuestion).waitFor()
    await k.press('Enter')
    await k.closed()
    await k.shows(say.copiedPath(2))
    await k.press('Control+c')
    await k.shows(say.copiedPath(2))
  },
  async appearance(k) {
    await k.entry('alpha.txt')
    await k.menu(say.appearance)
    await k.dialog(say.appearanceTitle).waitFor()
    await k.to(say.title)
    await k.type('Another title')
    await k.to(say.save)
    await k.press('Enter')
    await k.closed()
    await k.at('Another title')
  },
  async password(k) {
    await k.entry('secret.txt')
    await k.menu(say.filePassword)
    await k.dialog(say.passwordTitle).waitFor()
    await k.at(say.newPassword)
    await k.page.keyboard.type('open sesame')
    await k.press('Enter')
    await k.closed()
    await k.at('secret.txt')
    await k.page.getByRole('img', { name: say.protected }).waitFor()
  },
  async details(k) {
    await k.entry('other.txt')
    await k.press('Alt+i')
    await k.page.getByRole('button', { name: say.hideDetails }).waitFor()
    await k.to(say.hideDetails)
    await k.press('Enter')
    await k.at('other.txt')
  },
  async viewer(k) {
    await k.entry('lake 1.png')
    await k.press('Enter')
    const viewer = k.page.getByRole('dialog')
    await viewer.getByText('lake 1.png').first().waitFor()
    await k.press('ArrowRight')
    await viewer.getByText('lake 2.png').first().waitFor()
    await k.press('ArrowLeft')
    await viewer.getByText('lake 1.png').first().waitFor()
    await k.press('i')
    await viewer.getByText('image/png').waitFor()
    await k.press('i', 'ArrowRight', 'Escape')
    await k.closed()
    await k.at('lake 2.png')
  },
  async 'menu of an entry'(k) {
    await k.entry('lake 1.png')
    await k.press('Shift+F10')
    await k.at('Open')
    await k.press('ArrowUp')
    await k.at(say.deleteForGood)
    await k.press('Home', 'Escape')
    await k.at('lake 1.png')
  },
  async search(k) {
    await k.press('Home', '/')
    await k.at(say.find)
    await k.type('lake 3')
    await k.shows('Search this folder for “lake 3”')
    await k.press('ArrowDown', 'Enter')
    await k.shows('1 item found')
    await k.at('lake 3.png')
    await k.to(say.search, 'Shift+Tab')
    await k.press('Escape')
    await k.page.getByRole('link', { name: /^lake 1/ }).waitFor()
    await k.press('Home')
  },
  async 'sort and view'(k) {
    await k.to(say.display)
    await k.press('Enter')
    await k.to(say.list, 'ArrowDown')
    await k.press('Enter')
    await k.page.getByRole('columnheader').first().waitFor()
    await k.at(say.display)
    await k.press('Enter', 'ArrowDown')
    await k.to(say.bySize, 'ArrowDown')
    await k.press('Space')
    await k.at(say.display)
    await k.press('Enter', 'Escape')
    await k.at(say.display)
  },
  async 'an order by hand'(k) {
    await k.open(`${k.folder}/Row`)
    await k.to(say.display)
    await k.press('Enter')
    await k.to(say.byHand, 'ArrowDown')
    await k.press('Enter')
    await k.to('1.txt')
    await k.press('Alt+ArrowDown')
    await k.at('1.txt')
    await until(
      'another order',
      async () => (await k.page.getByRole('grid').getByRole('link').evaluateAll(names)).join() === '2.txt,1.txt,3.txt',
    )
  },
  async 'a key'(k) {
    await k.to(say.keys)
    await k.press('Enter')
    await k.page.getByRole('heading', { level: 1, name: say.keys }).waitFor()
    await k.to(say.newKey)
    await k.press('Enter')
    await k.dialog(say.newKeyTitle).waitFor()
    await k.to(say.keyName)
    await k.type('by hand')
    await k.to(say.createKey)
    await k.press('Enter')
    await k.dialog(say.saveNow).waitFor()
    await k.at(say.token)
    await k.press('Escape') // Escape does not close this dialog
    await k.to(say.haveSaved)
    await k.press('Space')
    await k.to(say.close)
    await k.press('Enter')
    await k.closed()
    await k.at(say.newKey)
  },
  async 'theme and language'(k) {
    await k.to(say.account)
    await k.press('Enter')
    await k.to(say.dark, 'ArrowDown')
    await k.press('Enter')
    await until('the dark theme', () => k.page.evaluate(() => document.documentElement.dataset.theme === 'dark'))
    await k.at(say.account)
    await k.press('Enter')
    await k.to(say.bySystem, 'ArrowDown') // restores the theme, which the account stores
    await k.press('Enter')
    await until(
      'the theme of the system',
      () => k.page.evaluate(() => document.documentElement.dataset.theme === 'light'),
    )
    await k.at(say.account)
    await k.press('Enter')
    await k.to('简体中文', 'ArrowDown')
    await k.press('Enter')
    await k.at(labels['zh-CN'].account)
    await k.press('Enter')
    await k.to('English', 'ArrowDown')
    await k.press('Enter')
    await k.at(say.account)
  },
  async 'sign out'(k) {
    await k.to(say.account)
    await k.press('Enter')
    await k.to(say.signOut, 'ArrowUp')
    await k.page.keyboard.press('Enter') // navigates to another page
    await k.page.getByRole('heading', { level: 1, name: say.signIn }).waitFor()
    await k.press('Tab')
  },
}

// names returns the accessible names of links; their text stands in two parts.
const names = (links) => links.map((link) => link.ariaLabel)

const words = ['alpha', 'beta', 'gone', 'moved', 'secret', 'other', 'paper'].map((name) => ({
  name: `${name}.txt`,
  bytes: btoa(name),
}))
const pictures = [1, 2, 3].map((n) => ({ name: `lake ${n}.png`, bytes: png(240, 160, n / 3).toString('base64') }))

// A failing script does not stop the others; the scenario reports all failures.
async function byKeys(page, config) {
  const k = new Keys(page, config, `/home/${config.username}/Keyboard`)
  await page.goto('/app/login')
  await k.at(say.username)
  await k.page.keyboard.type(config.username)
  await k.press('Tab')
  await k.page.keyboard.type(config.password)
  await k.press('Enter')
  await page.getByRole('navigation', { name: say.nav, exact: true }).waitFor()
  await k.at('content')
  await createFolder(page, config, 'Keyboard', [...pictures, ...words])
  await createFolder(page, config, 'Inner', [], k.folder)
  await createFolder(
    page,
    config,
    'Row',
    [1, 2, 3].map((n) => ({ name: `${n}.txt`, bytes: btoa('x') })),
    k.folder,
  )
  const failed = []
  for (const [name, script] of Object.entries(scripts)) {
    await k.open()
    await script(k).catch((error) => failed.push(`${name}: ${error.message}`))
  }
  equal('what cannot be done', failed, [])
}

export const scenarios = [{ name: 'everything by the keyboard alone', forms: once, run: byKeys }]
