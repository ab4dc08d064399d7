// Neighbouring targets on a touch screen need a distance, so that a finger on one of them does not
// touch the other one.

// near returns the targets of the topmost layer that are nearer than 8 px to each other. These may
// be nearer: rows of one list, menu or group of choices that are at least 44 px high, the pictures
// of a gallery with their controls and headings, and an element and a control that lies on it.
// Fixed parts of a page are not compared with the content, which scrolls behind them, nor is the
// content of one scrolling part with the content of another. Links within a text are left out. The
// target of an entry is its whole cell.
export function near(page) {
  return page.evaluate(() => {
    const least = 8
    const row = 44
    const lists = 'ul, ol, table, fieldset, [role=menu], [role=tree], [role=grid], [role=listbox]'
    const top = [...document.querySelectorAll('dialog:modal, :popover-open')].at(-1) ?? document
    const above = (element) => (element && element !== document.body ? [element, ...above(element.parentElement)] : [])
    const style = (element) => getComputedStyle(element)
    const name = (element) =>
      `${element.tagName.toLowerCase()} "${(element.getAttribute('aria-label') ?? element.title) || element.textContent.trim().slice(0, 40) || element.labels?.[0]?.textContent.trim() || element.id}"`

    // seen is the part of the box of an element that its scrolling ancestors show.
    const seen = (element) => {
      let { left, top, right, bottom } = element.getBoundingClientRect()
      for (const outer of above(element.parentElement)) {
        if (style(outer).overflow !== 'visible') {
          const frame = outer.getBoundingClientRect()
          left = Math.max(left, frame.left)
          top = Math.max(top, frame.top)
          right = Math.min(right, frame.right)
          bottom = Math.min(bottom, frame.bottom)
        }
        if (style(outer).position === 'fixed') break
      }
      return { left, top, right, bottom }
    }
    const holds = (one, other) =>
      one.left <= other.left + 1 &&
      one.top <= other.top + 1 &&
      one.right >= other.right - 1 &&
      one.bottom >= other.bottom - 1

    const targets = []
    for (const element of top.querySelectorAll('a[href], button, input, select, textarea, summary, [role=treeitem]')) {
      const mark = element.matches('input[type=checkbox], input[type=radio]')
      const cell = element.tagName === 'A' && element.closest('[data-index]')
      const own = cell || (mark && element.closest('label')) || element
      if (!element.checkVisibility({ visibilityProperty: true }) || element.closest('.skip')) continue
      if (style(element).pointerEvents === 'none' || element.matches('input[type=file]')) continue
      if (element.tagName === 'A' && style(element).display === 'inline') continue
      const box = seen(own)
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue
      const fixed = above(own).find((outer) => /fixed|sticky/.test(style(outer).position))
      const scroller = above(own.parentElement).find((outer) => /auto|scroll/.test(style(outer).overflowY))
      targets.push({
        own,
        box,
        fixed,
        scroller,
        list: own.closest(mark ? `${lists}, form` : lists),
        text: name(element),
      })
    }

    const found = []
    for (const [n, one] of targets.entries())
      for (const other of targets.slice(n + 1)) {
        if (one.scroller !== other.scroller) continue
        if (!one.fixed !== !other.fixed || one.own.contains(other.own) || other.own.contains(one.own)) continue
        const [a, b] = [one.box, other.box]
        const beside = Math.max(0, a.left - b.right, b.left - a.right)
        const below = Math.max(0, a.top - b.bottom, b.top - a.bottom)
        if (Math.hypot(beside, below) > least - 0.5 || holds(a, b) || holds(b, a)) continue
        const rows =
          beside === 0 &&
          Math.min(a.right, b.right) - Math.max(a.left, b.left) >
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) &&
          [one, other].every(({ own }) => own.offsetHeight >= row)
        const pictures = [one, other].every(
          ({ own }) => own.closest('[role=rowheader]') || (own.closest('[data-index]') ?? own).querySelector('img'),
        )
        if ((rows || pictures) && one.list && one.list === other.list) continue
        const distance = Math.round(Math.hypot(beside, below))
        found.push(`${one.text} is ${distance} px from ${other.text}, want ${least}`)
      }
    return found
  })
}
