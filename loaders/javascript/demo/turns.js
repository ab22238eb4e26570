/** What a person asks of a page is done in turn: nothing asked meanwhile is lost. */

/**
 * @param fails Is told the error of what failed; what is asked later is done all the same.
 * @returns A function that does something when all that was asked before is done.
 */
export function makeTurns(fails) {
  let last = Promise.resolve();
  return (work) => (last = last.then(work).catch(fails));
}

/**
 * Let a button begin something long. It cannot be pressed again before that has ended.
 *
 * @returns A function that says whether that is so now.
 */
export function onPress(button, inTurn, work) {
  let isBusy = false;
  button.addEventListener('click', async () => {
    const hadFocus = document.activeElement === button;
    isBusy = button.disabled = true;
    await inTurn(work);
    isBusy = button.disabled = false;
    if (hadFocus && document.activeElement === document.body) button.focus();
  });
  return () => isBusy;
}
