import java.time.Clock;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A lending desk for a village library: books go out, come back late, and are
 * reserved by impatient readers in the meantime.
 *
 * <p>All state lives in memory. The {@link Clock} is injected so that tests can
 * travel in time without waiting three weeks.
 */
final class LendingDesk {

    static final int LOAN_PERIOD_DAYS = 21;
    static final int MAX_LOANS_PER_READER = 5;
    static final long FINE_PER_DAY_IN_CENTS = 15L;
    static final long FINE_CEILING_IN_CENTS = 1_000L;

    private final Clock clock;
    private final Map<Isbn, Book> catalogue = new LinkedHashMap<>();
    private final Map<Isbn, Loan> openLoans = new HashMap<>();
    private final Map<Isbn, Deque<Reader>> reservations = new HashMap<>();
    private final List<Loan> history = new ArrayList<>();

    LendingDesk(Clock clock) {
        this.clock = Objects.requireNonNull(clock, "clock");
    }

    void addBook(Book book) {
        if (catalogue.putIfAbsent(book.isbn(), book) != null) {
            throw new IllegalArgumentException("Already in the catalogue: " + book.isbn());
        }
    }

    /**
     * Lends a book to a reader.
     *
     * @return the new loan, including the date on which the book is due
     * @throws LendingException if the book is out or reserved for someone else
     */
    Loan lend(Isbn isbn, Reader reader) throws LendingException {
        Book book = find(isbn);
        if (openLoans.containsKey(isbn)) {
            throw new BookUnavailableException(book, openLoans.get(isbn).dueOn());
        }
        Deque<Reader> queue = reservations.getOrDefault(isbn, new ArrayDeque<>());
        if (!queue.isEmpty() && !queue.peekFirst().equals(reader)) {
            throw new LendingException(
                    "\"%s\" is reserved for %s".formatted(book.title(), queue.peekFirst().name()));
        }
        if (loansOf(reader).size() >= MAX_LOANS_PER_READER) {
            throw new LendingException(reader.name() + " has reached the limit of loans");
        }
        queue.pollFirst();
        Loan loan = new Loan(book, reader, today(), null);
        openLoans.put(isbn, loan);
        return loan;
    }

    /** Takes a book back and tells how much the reader owes, in cents. */
    long takeBack(Isbn isbn) throws LendingException {
        Loan loan = openLoans.remove(isbn);
        if (loan == null) {
            throw new LendingException("Nobody has borrowed " + find(isbn).title());
        }
        Loan closed = loan.closedOn(today());
        history.add(closed);
        return closed.fineInCents(today());
    }

    int reserve(Isbn isbn, Reader reader) throws LendingException {
        find(isbn);
        Deque<Reader> queue = reservations.computeIfAbsent(isbn, key -> new ArrayDeque<>());
        if (!queue.contains(reader)) {
            queue.addLast(reader);
        }
        return queue.size();
    }

    List<Loan> loansOf(Reader reader) {
        return openLoans.values().stream()
                .filter(loan -> loan.reader().equals(reader))
                .sorted(Comparator.comparing(Loan::dueOn))
                .toList();
    }

    List<Loan> overdue() {
        LocalDate today = today();
        return openLoans.values().stream()
                .filter(loan -> loan.daysLate(today) > 0)
                .sorted(Comparator.comparingLong((Loan loan) -> loan.daysLate(today)).reversed())
                .toList();
    }

    /** Counts finished loans per genre, in the order of the enum. */
    Map<Genre, Long> popularity() {
        return history.stream()
                .collect(Collectors.groupingBy(
                        loan -> loan.book().genre(), TreeMap::new, Collectors.counting()));
    }

    private Book find(Isbn isbn) throws LendingException {
        return Optional.ofNullable(catalogue.get(isbn))
                .orElseThrow(() -> new LendingException("Unknown book: " + isbn));
    }

    private LocalDate today() {
        return LocalDate.now(clock);
    }

    public static void main(String[] args) {
        LendingDesk desk = new LendingDesk(Clock.systemDefaultZone());
        Book atlas = new Book(Isbn.parse("978-0-306-40615-7"), "Atlas of Fog", Genre.TRAVEL);
        Reader oona = new Reader(1042, "Oona Väisälä");
        Reader tariq = new Reader(1043, "Tariq O'Neill");
        desk.addBook(atlas);
        try {
            System.out.println(desk.lend(atlas.isbn(), oona));
            System.out.printf("place in the queue: %d%n", desk.reserve(atlas.isbn(), tariq));
            desk.lend(atlas.isbn(), tariq);
        } catch (BookUnavailableException e) {
            System.err.println("Try again after " + e.expectedOn());
        } catch (LendingException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
    }
}

enum Genre {
    FICTION("FIC"), HISTORY("HIS"), TRAVEL("TRA"), COOKING("COO");

    private final String shelfMark;

    Genre(String shelfMark) {
        this.shelfMark = shelfMark;
    }

    String shelfMark() {
        return shelfMark;
    }
}

record Reader(int cardNumber, String name) {}

record Book(Isbn isbn, String title, Genre genre) {
    Book {
        Objects.requireNonNull(isbn, "isbn");
        title = title.strip();
    }
}

record Isbn(String digits) {

    /** Accepts thirteen digits with or without hyphens and verifies the check digit. */
    static Isbn parse(String text) {
        String digits = text.replaceAll("[\\s-]", "");
        if (!digits.matches("\\d{13}")) {
            throw new IllegalArgumentException("Not an ISBN-13: '" + text + "'");
        }
        int sum = 0;
        for (int i = 0; i < digits.length(); i++) {
            int weight = (i % 2 == 0) ? 1 : 3;
            sum += weight * (digits.charAt(i) - '0');
        }
        if (sum % 10 != 0) {
            throw new IllegalArgumentException("Wrong check digit in " + text);
        }
        return new Isbn(digits);
    }

    @Override
    public String toString() {
        return digits.substring(0, 3) + "-" + digits.substring(3);
    }
}

record Loan(Book book, Reader reader, LocalDate lentOn, LocalDate returnedOn) {

    LocalDate dueOn() {
        return lentOn.plusDays(LendingDesk.LOAN_PERIOD_DAYS);
    }

    Loan closedOn(LocalDate day) {
        return new Loan(book, reader, lentOn, day);
    }

    long daysLate(LocalDate today) {
        LocalDate end = returnedOn != null ? returnedOn : today;
        return Math.max(0, ChronoUnit.DAYS.between(dueOn(), end));
    }

    // TODO: ask the council whether children should pay fines at all
    long fineInCents(LocalDate today) {
        long fine = daysLate(today) * LendingDesk.FINE_PER_DAY_IN_CENTS;
        return Math.min(fine, LendingDesk.FINE_CEILING_IN_CENTS);
    }

    @Override
    public String toString() {
        return String.format(
                Locale.ROOT, "%s [%s] → %s, due %tF",
                book.title(), book.genre().shelfMark(), reader.name(), dueOn());
    }
}

class LendingException extends Exception {
    private static final long serialVersionUID = 0x1CEB00DAL;

    LendingException(String message) {
        super(message);
    }
}

class BookUnavailableException extends LendingException {
    private static final long serialVersionUID = 1L;

    private final LocalDate expectedOn;

    BookUnavailableException(Book book, LocalDate expectedOn) {
        super("\"" + book.title() + "\" is out until " + expectedOn);
        this.expectedOn = expectedOn;
    }

    LocalDate expectedOn() {
        return expectedOn;
    }
}
